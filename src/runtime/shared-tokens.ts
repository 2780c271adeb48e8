import { randomUUID } from 'node:crypto';

import { defer, mergeMap, type Observable, of } from 'rxjs';

import { TokenSharing } from '../adapters/feishu/token-sharing.ts';
import type { FeishuTokensOptions } from '../adapters/feishu/tokens.ts';
import { SealedVault, SecretBox } from '../adapters/system/sealed-vault.ts';
import type { Config } from '../config/config.ts';
import { eventName } from '../model/event.ts';
import type { OutRecord } from '../model/record.ts';
import { tokenRevoked } from '../model/token-revoked.ts';

import type { Stores, WorldParts } from './stores.ts';

/** What processes have in common about tokens. */
export type SharedTokens = NonNullable<FeishuTokensOptions['shared']>;

/** Sealed with `tokenKey`, in the stores of this process. `undefined` without a key: then nothing is kept. */
export function sharedTokens({ tokenKeys }: Config, stores: Stores, parts: WorldParts): SharedTokens | undefined {
  if (tokenKeys.length === 0) return undefined;
  const { clock, timers, log } = parts;
  const box = new SecretBox(tokenKeys);
  return {
    vault: new SealedVault(stores.entries, box),
    sharing: new TokenSharing({
      claims: stores.tokenClaims,
      seal: (text, place) => box.seal(text, place),
      open: (sealed, place) => box.open(sealed, place),
      ...{ clock, timers, process: randomUUID() },
    }),
    onRevoked({ app, openId, reason, atMs }, again) {
      log.warn({ app, openId, reason }, 'the consent of a user is over: calls as this user end as auth_failed');
      const record = tokenRevoked(app, openId, reason, atMs);
      const append$ = defer(() => stores.sink.append(record));
      return again ? unlessStored(record, atMs, stores, append$) : append$;
    },
  } satisfies SharedTokens;
}

/** Who died over telling may have told. */
function unlessStored(
  { topic, key, headers }: OutRecord,
  atMs: number,
  { finder }: Stores,
  append$: Observable<unknown>,
): Observable<unknown> {
  const name = eventName(headers);
  if (key === null || name === undefined) return append$;
  return finder
    .find({ topic, key, name, sinceMs: atMs - clockSkewMs })
    .pipe(mergeMap((found) => (found === undefined ? append$ : of(found))));
}

// Records carry the clock of who wrote them.
const clockSkewMs = 60_000;
