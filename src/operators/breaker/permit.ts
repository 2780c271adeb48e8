/** Where a breaker stands. `half-open` lets a few probes through, `ramp` a growing share of calls. */
export type BreakerState = 'closed' | 'open' | 'half-open' | 'ramp';

/** What a person may impose: refuse all, let all through uncounted, or let all through and count. */
export type ForcedState = 'open' | 'closed' | 'metrics-only';

/** The right to make one call. Ended exactly once, by `record` or by `release`. */
export interface Permit {
  readonly kind: 'permit';
  /** Which life of the breaker granted it: a result counts only in the same one. */
  readonly generation: number;
  /** Set by the breaker; a second ending changes nothing. */
  ended: boolean;
}

/** No call now; asking again is worth while at `untilMs` (monotonic milliseconds). */
export interface Refusal {
  readonly kind: 'refused';
  readonly untilMs: number;
}

/** What a breaker shows of itself. */
export interface BreakerSnapshot {
  readonly state: BreakerState;
  readonly forced: ForcedState | undefined;
  readonly generation: number;
  /** The failure ratio at which it opens at present. */
  readonly theta: number;
  readonly calls: number;
  readonly failures: number;
  readonly slow: number;
  /** How long back these count, milliseconds. */
  readonly windowMs: number;
  readonly openings: number;
  readonly refusals: number;
  readonly lateResults: number;
  readonly leaseExpiries: number;
  /** Until when it refuses every call, or `undefined`. */
  readonly untilMs: number | undefined;
}

/** One step of a breaker, for logs and metrics. */
export interface BreakerChange {
  readonly from: BreakerState;
  readonly to: BreakerState;
  /** What a person imposes from now on; then `to` is `closed`. */
  readonly forced: ForcedState | undefined;
  /** Why, in words. */
  readonly reason: string;
  readonly atMs: number;
  /** For `open`: when it looks again at the earliest. */
  readonly untilMs: number | undefined;
}
