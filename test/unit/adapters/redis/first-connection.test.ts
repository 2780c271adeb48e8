import { afterEach, expect, it } from 'vitest';

import { createMetrics } from '../../../../src/adapters/prometheus/metrics.ts';
import { RedisConnection } from '../../../../src/adapters/redis/client.ts';
import { noLogger } from '../../../support/silent.ts';
import { seededRandom, VirtualTime } from '../../../support/virtual-time.ts';

let connection: RedisConnection | undefined;
afterEach(() => connection?.close());

it('whether Redis is away is not said before it was there once, or five seconds have passed', () => {
  const time = new VirtualTime();
  const metrics = createMetrics({ processMetrics: false });
  connection = new RedisConnection({
    // Nobody listens there.
    ...{ url: 'redis://127.0.0.1:1', clock: time, timers: time, random: seededRandom(1) },
    ...{ logger: noLogger, metrics },
  });
  const shown = (): number[] => [...metrics.samples('larkspur_redis_degraded')].map(([, value]) => value);
  expect(shown()).toEqual([]);
  time.advance(4_999);
  expect(shown()).toEqual([]);
  time.advance(1);
  expect(shown()).toEqual([1]);
});
