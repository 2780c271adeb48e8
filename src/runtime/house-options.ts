import type { WorkerConfig } from '../config/config.ts';
import { type HouseOptions, houseDefaults } from '../pipeline/house-options.ts';

// A turn lasts until the terminal record is durable, an attempt only until its answer: so there are more turns than
// attempts, or slots would stand empty while records are written.
const turnsPerAttempt = 4;

/** Sizes and times of the pipeline from the configuration. */
export function houseOptions({ inFlight, ring, lanes, claims, commit, outcomeLines }: WorkerConfig): HouseOptions {
  return {
    ...houseDefaults,
    ringCapacity: ring.capacity,
    watermarks: {
      highItems: ring.highItems,
      lowItems: ring.lowItems,
      highBytes: ring.highBytes,
      lowBytes: ring.lowBytes,
    },
    totalHighBytes: ring.totalBytes,
    laneItems: lanes.items,
    parkFullLanes: lanes.whenFull === 'park',
    maxInTurn: inFlight * turnsPerAttempt,
    commitEveryMs: commit.intervalMs,
    commitEveryRecords: commit.everyDone,
    leases: { ...houseDefaults.leases, leaseMs: claims.leaseMs, renewEveryMs: claims.renewMs },
    outcomeLines,
    claimTtlMs: { keyed: claims.ttlMs, unkeyed: claims.unkeyedTtlMs },
  };
}
