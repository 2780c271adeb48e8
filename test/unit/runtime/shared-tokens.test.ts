import { toArray } from 'rxjs';
import { expect, it } from 'vitest';

import { systemClock, systemRandom, systemTimers } from '../../../src/adapters/system/clock.ts';
import type { Event } from '../../../src/model/event.ts';
import { openStores } from '../../../src/runtime/open-stores.ts';
import { sharedTokens } from '../../../src/runtime/shared-tokens.ts';
import { ConfigFiles } from '../../support/config-file.ts';
import { only } from '../../support/only.ts';
import { RememberingLogger } from '../../support/remembering-logger.ts';
import { noMetrics } from '../../support/silent.ts';

it('the end of a consent stands on events once, also when it is told by two who cannot know of each other', async () => {
  const files = new ConfigFiles();
  const { config } = files.load(`data: memory\ntokenKey: ${'k'.repeat(32)}\n`);
  files.remove();
  const log = new RememberingLogger();
  const world = { clock: systemClock, timers: systemTimers, random: systemRandom, metrics: noMetrics, log };
  const stores = openStores(config, world);
  const atMs = Date.now();
  const tell = (openId: string, again: boolean) =>
    only(
      sharedTokens(config, stores, world)!.onRevoked({ app: 'cli_a', openId, reason: 'invalid_grant', atMs }, again),
    );
  await tell('ou_1', false);
  await tell('ou_1', true);
  await tell('ou_2', true);

  const records = await only(stores.tail('events', 100).pipe(toArray()));
  const events = records.map(({ value }) => JSON.parse(String(value)) as Event);
  expect(events.map(({ id, type }) => [id.split('/')[1], type])).toEqual(
    expect.arrayContaining([
      ['ou_1', 'token.revoked'],
      ['ou_2', 'token.revoked'],
    ]),
  );
  expect(events).toHaveLength(2);
  expect(log.text).toContain('auth_failed');
  await stores.close();
});
