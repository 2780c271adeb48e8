import { murmur2 } from '../model/partitioner.ts';
import { type HalfHourSlot, halfHourSlot } from '../operators/limit/half-hour.ts';

import type { Job } from './job.ts';

/** The second after a full or half hour for which a bulk call waits; `undefined`: it does not. */
export function halfHourOf(job: Job, wall: () => number): HalfHourSlot | undefined {
  const { call, destination, id, attemptsMade, appointed } = job;
  // One with a start of its own, or a retry, has its time already.
  if (destination.bulkSpreadMs === 0 || call.priority !== 'bulk' || attemptsMade > 0 || appointed) return undefined;
  const share = (murmur2(Buffer.from(id)) >>> 0) / 2 ** 32;
  const slot = halfHourSlot(share, wall(), destination.bulkSpreadMs);
  return slot.waitMs > 0 ? slot : undefined;
}
