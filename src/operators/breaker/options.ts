/** How the failure threshold learns from openings that proved to be blips. */
export interface AdaptiveOptions {
  /** The threshold is multiplied by this after a blip; 1 pins it. */
  readonly factor: number;
  /** It never rises above this; in (0, 1]. */
  readonly max: number;
  /** Half-life of the way back, counted in healthy time only. */
  readonly decayMs: number;
}

/** What may be set for a circuit breaker. All times in milliseconds, ratios in (0, 1]. */
export interface BreakerOptions {
  readonly windowMs: number;
  /** Cells of the window; >= 2. */
  readonly buckets: number;
  /** No ratio is looked at below so many calls in the window. */
  readonly minCalls: number;
  readonly failureRatio: number;
  /** A call at least this long is slow. */
  readonly slowMs: number;
  readonly slowRatio: number;
  /** So many failures in a row open it whatever the ratio; scales with the adaptive threshold. */
  readonly consecutiveFailures: number;
  /** A trip also needs more than so many calls in flight; 0 switches this off. */
  readonly minInFlight: number;
  /** First time in open; doubles with each opening of one episode up to `maxOpenMs`. */
  readonly coolDownMs: number;
  readonly maxOpenMs: number;
  /** Up to this share is added to the time in open. */
  readonly openJitter: number;
  /** Calls let through per half-open round. */
  readonly probes: number;
  /** Good ones among them that close it. */
  readonly probesToClose: number;
  /** A probe that reports nothing for this long frees its place. */
  readonly probeLeaseMs: number;
  /** Share of calls let through at the start of the ramp. */
  readonly rampFrom: number;
  readonly rampMs: number;
  /** Checked at the end of the ramp over its own calls; `undefined` switches a condition off. */
  readonly closeP95Ms: number | undefined;
  readonly closeSuccessRatio: number | undefined;
  readonly adaptive: AdaptiveOptions;
}

/** Defaults for a bucket that allows more than 5 calls per second. */
export const breakerDefaults: BreakerOptions = {
  windowMs: 10_000,
  buckets: 10,
  minCalls: 20,
  failureRatio: 0.5,
  slowMs: 3_000,
  slowRatio: 0.8,
  consecutiveFailures: 15,
  minInFlight: 0,
  coolDownMs: 1_000,
  maxOpenMs: 10_000,
  openJitter: 0.2,
  probes: 5,
  probesToClose: 4,
  probeLeaseMs: 15_000,
  rampFrom: 0.5,
  rampMs: 3_000,
  closeP95Ms: undefined,
  closeSuccessRatio: undefined,
  adaptive: { factor: 1.2, max: 0.7, decayMs: 300_000 },
};
