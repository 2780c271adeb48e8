import { defer, map, NEVER, of } from 'rxjs';

import { openEmbedded } from '../../../../src/adapters/embedded/embedded.ts';
import { TokenSharing } from '../../../../src/adapters/feishu/token-sharing.ts';
import { FeishuTokens, type FeishuTokensOptions } from '../../../../src/adapters/feishu/tokens.ts';
import { SealedVault, SecretBox } from '../../../../src/adapters/system/sealed-vault.ts';
import type { Exchange } from '../../../../src/model/outcome.ts';
import { after } from '../../../../src/operators/interop/after.ts';
import type { TokenNeed, TokenReply } from '../../../../src/ports/token-source.ts';
import type { Upstream } from '../../../../src/ports/upstream.ts';
import { collect } from '../../../support/collect.ts';
import { noLogger, noMetrics } from '../../../support/silent.ts';
import { seededRandom, VirtualTime } from '../../../support/virtual-time.ts';

/** What the platform says to one question. */
export type Answering = (path: string, body: Record<string, string>) => Exchange;

/** Several processes over one store, and a platform that answers after 50 ms. */
export function fleet(answer: Answering, apps: FeishuTokensOptions['apps'], tokenKey = 'k'.repeat(32)) {
  const time = new VirtualTime();
  const store = openEmbedded({
    ...{ data: 'memory', clock: time, timers: time, logger: noLogger, topics: [] },
    nextTurn: (task) => void time.after(0, task),
  });
  const asked: { path: string; body: Record<string, string>; process: number }[] = [];
  const revoked: string[] = [];
  const told: { atMs: number; again: boolean }[] = [];
  let processes = 0;
  const box = new SecretBox([tokenKey]);
  const vault = new SealedVault(store.entries, box);
  /** @param tell whether it lives long enough to tell that a consent is over */
  const process = (tell = true): FeishuTokens => {
    const nth = processes++;
    const upstream: Upstream = {
      send: ({ path, body }) =>
        defer(() => {
          const parsed = JSON.parse(String(body)) as Record<string, string>;
          asked.push({ path, body: parsed, process: nth });
          return after(time, 50).pipe(map(() => answer(path, parsed)));
        }),
    };
    return new FeishuTokens({
      ...{ apps, upstream, clock: time, timers: time, random: seededRandom(nth + 1), metrics: noMetrics },
      shared: {
        vault,
        onRevoked({ app, openId, reason, atMs }, again) {
          return defer(() => {
            if (!tell) return NEVER;
            revoked.push(`${app} ${openId} ${reason}`);
            told.push({ atMs, again });
            return of(true);
          });
        },
        sharing: new TokenSharing({
          ...{ claims: store.tokenClaims, clock: time, timers: time, process: `p${nth}` },
          seal: (text, place) => box.seal(text, place),
          open: (sealed, place) => box.open(sealed, place),
        }),
      } satisfies FeishuTokensOptions['shared'],
    });
  };
  const get = (tokens: FeishuTokens, need: TokenNeed): TokenReply[] => {
    return collect(tokens.get(need)).values;
  };
  return { time, store, vault, asked, revoked, told, process, get };
}

/** The value in a reply. */
export function valueOf(replies: readonly TokenReply[]): string | undefined {
  const [reply] = replies;
  return reply?.kind === 'token' ? reply.token.value : reply?.kind;
}
