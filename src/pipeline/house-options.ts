import type { WatermarkOptions } from '../operators/ring/watermarks.ts';

import { type ClaimLife, claimLifeDefaults, leaseDefaults, type LeaseOptions } from './claim-keeper.ts';
import type { OutcomeLineOptions } from './outcome-lines.ts';

/** Sizes and times of the pipeline. */
export interface HouseOptions {
  readonly ringCapacity: number;
  readonly watermarks: WatermarkOptions;
  /** Bytes in all rings together above which the largest is paused. */
  readonly totalHighBytes: number;
  /** Records queued in lanes, over all partitions. */
  readonly laneItems: number;
  /** What a tenant has beyond its share of the lanes goes to a delay topic; else its partition waits. */
  readonly parkFullLanes: boolean;
  readonly maxInTurn: number;
  readonly minWorkMs: number;
  readonly commitEveryMs: number;
  readonly commitEveryRecords: number;
  readonly leases: LeaseOptions;
  readonly claimTtlMs: ClaimLife;
  readonly outcomeLines: OutcomeLineOptions;
}

/** Defaults of the pipeline. */
export const houseDefaults: HouseOptions = {
  ringCapacity: 1_024,
  watermarks: { highItems: 128, lowItems: 32, highBytes: 8 * 1_048_576, lowBytes: 2 * 1_048_576 },
  totalHighBytes: 32 * 1_048_576,
  laneItems: 2_048,
  parkFullLanes: false,
  maxInTurn: 1_024,
  minWorkMs: 300,
  commitEveryMs: 500,
  commitEveryRecords: 1_000,
  leases: leaseDefaults,
  claimTtlMs: claimLifeDefaults,
  outcomeLines: { successShare: 0.01, perSecond: 10 },
};
