import type { Clock, Timers } from '../../ports/clock.ts';
import type { QuotaLog } from '../../ports/quota-log.ts';

/** Added to every window: the server counts arrivals, we count starts, and the path takes now a little longer, now less. */
export const defaultStretchMs = 40;

/** A long window costs little to stretch more: then a late call a minute ago does no harm. */
export const longWindow = { fromMs: 10_000, times: 2.5 } as const;

/** A window as it is counted here. */
export function stretchedMs(windowMs: number, stretchMs: number): number {
  return windowMs + stretchMs * (windowMs >= longWindow.fromMs ? longWindow.times : 1);
}

/** How far ahead the log grants starts where there are more calls than starts, milliseconds. */
export const aheadMs = 1_000;
/** So long before the last of its starts a replica asks for more. */
export const leadMs = 150;

/**
 * Where a bucket is in demand its starts are spread over the window: of a burst one late call is enough to have too
 * many in a second at the server. A few start at once.
 */
export const spreadRule = {
  /** Smaller limits are not spread: a person who sends three messages shall not wait. */
  leastLimit: 20,
  /** Nor are longer windows, in which some milliseconds matter little. */
  longestWindowMs: 1_000,
  /** This share of the limit. */
  atOnce: 0.25,
  /** Over this share of the window. */
  evenness: 0.8,
} as const;

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
  /**
   * So many refusals of one rest are believed at once, when they are also such a share of the starts in the window, or of
   * those since the first that was refused: a limit refuses all that come later.
   */
  manyRefusals: 3,
  manyShare: 0.2,
  manySince: 0.6,
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
  longestEveryMs: 60_000,
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
