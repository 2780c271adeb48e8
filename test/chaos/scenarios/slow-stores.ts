import { slow } from '../world/faults.ts';

import { hurting } from './hurt.ts';

/** A worker whose Redis and whose Kafka answer late, as on a disk that cannot follow; the other one works on. */
export const slowStores = hurting({
  name: 'slow',
  own: true,
  mayDiffer: true,
  world: { proxied: true },
  faults: [
    slow('redis', 80, 10_000),
    // Beyond what a command may take: Redis counts as away.
    slow('redis', 400, 10_000),
    slow('kafka', 1_000, 15_000),
  ],
});
