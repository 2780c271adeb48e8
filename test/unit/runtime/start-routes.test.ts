import { throwError } from 'rxjs';
import { expect, it, vi } from 'vitest';

import { LarkspurError } from '../../../src/model/errors.ts';
import type { RecordSource } from '../../../src/ports/record-source.ts';
import { startRoutes } from '../../../src/runtime/start-routes.ts';
import type { Stores, WorldParts } from '../../../src/runtime/stores.ts';
import { noLogger, noMetrics } from '../../support/silent.ts';
import { seededRandom, VirtualTime } from '../../support/virtual-time.ts';

it('routes that have failed tell why, and are stopped without waiting for what cannot end any more', async () => {
  const time = new VirtualTime();
  const parts: WorldParts = { clock: time, timers: time, random: seededRandom(1), log: noLogger, metrics: noMetrics };
  const lost = new LarkspurError('kafka_consumer_failed', 'the group is gone');
  const source = { event$: throwError(() => lost) } satisfies Partial<RecordSource>;
  const stores = { eventSource: () => source, sink: {} } as unknown as Stores;
  const onFailure = vi.fn();
  const running = startRoutes({ routesFor: () => [] }, stores, parts, onFailure, { routed: () => undefined });

  expect(onFailure.mock.calls).toEqual([[lost]]);
  // The clock stands still: whoever waits for it waits for ever.
  await running.stop();
});
