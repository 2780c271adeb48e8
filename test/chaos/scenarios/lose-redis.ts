import { flushRedis, freezeRedis, killRedis } from '../world/faults.ts';

import { hurting } from './hurt.ts';

/**
 * Redis is killed and comes back empty, frozen, and flushed with calls in flight. Each worker still knows its own calls, so
 * even those without a key of the platform are not sent again. A worker that dies in the same moment, or hands partitions
 * over, takes that knowledge with it: then only calls with a key are safe.
 */
export const loseRedis = hurting({
  name: 'redis',
  own: true,
  plainEvery: 10,
  mayDiffer: true,
  faults: [killRedis(2_000), freezeRedis(5_000), flushRedis, flushRedis],
});
