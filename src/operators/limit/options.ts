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
  /** A refusal takes away at most this share of it, however few starts were let through. */
  mostLost: 0.5,
  /** What is left of it when the starts that were let through explain nothing. */
  unexplained: 0.95,
  /** First step of the way back; each further step is twice as long. */
  firstStep: 0.02,
  longestStep: 0.32,
  /** Between two steps, milliseconds, without a refusal and with demand for more. */
  everyMs: 5_000,
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
