import type { Clock, Timers } from '../../ports/clock.ts';
import type { QuotaLog } from '../../ports/quota-log.ts';

/**
 * Added to every window: the server counts arrivals, we count grants. 40 ms for the spread of the path, 20 ms for the
 * longest time between grant and send.
 */
export const defaultStretchMs = 60;

/** From this limit on a log remembers when a bucket was full: where starts come in waves the replicas share them by that. */
export const leastShared = 20;
/** For so long it does, milliseconds; and it looks again when the last time is so long ago. */
export const fullRule = { keptMs: 10_000, everyMs: 100 } as const;

/** How the learned share of a limit moves; all shares in (0, 1]. */
export const factorRule = {
  /** Never below this. */
  floor: 0.1,
  /** At least this share of it is kept, whatever the refusals of one rest say. */
  leastKept: 0.3,
  /** Nothing is learned where less than this share of what was allowed was used. */
  leastUsed: 0.5,
  /** What is left of it when many were refused and no count explains it. */
  unexplained: 0.95,
  /** So many refusals of one rest are a burst that was cut off, when they are also this share of the starts. */
  manyRefusals: 3,
  manyShare: 0.2,
  /** A rest that begins so soon after the last one, milliseconds, goes on with it: that one has changed nothing. */
  promptMs: 2_000,
  /** Few refusals in so many rests in a row are believed: the share falls to what they let through. */
  believedInARow: 3,
  /** When it is refused all the same by then, the limit is not the reason, and the share is what it was before. */
  vainInARow: 6,
  /** First step of the way back; each further step is twice as long. */
  firstStep: 0.02,
  longestStep: 0.32,
  /** Between two steps, milliseconds, with demand for more. After a step that was refused twice as long each time. */
  everyMs: 5_000,
  longestEveryMs: 30_000,
} as const;

/** What a limiter over all replicas needs, and how it counts. */
export interface SharedLimiterOptions {
  readonly log: QuotaLog;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Milliseconds that the log adds to every window. Default 60. */
  readonly stretchMs?: number;
  /** A grant older than this is given back, not used, milliseconds. Default 20. */
  readonly lifeMs?: number;
  /** Buckets kept without need. Default 10,000. */
  readonly maxBuckets?: number;
}

/** What a limiter shows of itself. */
export interface SharedLimiterSnapshot {
  readonly keys: number;
  readonly cooling: number;
  readonly promised: number;
  readonly grants: number;
  /** Starts that had to wait after they had been let through. */
  readonly refusals: number;
  /** Replicas among which the limits are split because the log is away, or was until lately; 0: they are not. */
  readonly splitAmong: number;
}
