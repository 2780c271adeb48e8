import { slow, stutterBroker, stutterRedis } from '../world/faults.ts';

import { hurting } from './hurt.ts';

/**
 * S004-36: a stand-in for disks that cannot follow. Broker and Redis stand still for most of the time, for all workers; then
 * one worker alone has late answers from Redis and from Kafka.
 */
export const slowDisk = hurting({
  name: 'slow-disk',
  own: true,
  mayDiffer: true,
  // Their calls may neither differ nor be guessed.
  plainEvery: 10,
  world: { proxied: true },
  faults: [
    stutterBroker(15_000),
    stutterRedis(10_000),
    slow('redis', 80, 10_000),
    // Beyond what a command may take: Redis counts as away.
    slow('redis', 400, 10_000),
    slow('kafka', 1_000, 15_000),
  ],
});
