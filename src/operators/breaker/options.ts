/** How the failure threshold learns from openings that proved to be blips. */
export interface AdaptiveOptions {
  /** The threshold is multiplied by this after a blip; 1 pins it. */
  readonly factor: number;
  /** It never rises above this; in (0, 1]. */
  readonly max: number;
  /** Half-life of the way back, counted in healthy time only. */
  readonly decayMs: number;
}

/** How short the window may become, and until when it does; see `ElasticWindow`. */
export interface ElasticOptions {
  readonly minMs: number;
  readonly targetCalls: number;
}

/** What may be set for a circuit breaker. All times in milliseconds, ratios in (0, 1]. */
export interface BreakerOptions {
  readonly windowMs: number;
  /** `buckets`: fixed memory, a call stops counting up to one bucket early; `exact`: nine bytes a call, to the millisecond. */
  readonly mode: 'buckets' | 'exact';
  /** Cells of the window; >= 2. For `exact` without meaning. */
  readonly buckets: number;
  /** Lets the window stretch with the traffic, at most to `windowMs`; `undefined`: it has that length always. */
  readonly elastic: ElasticOptions | undefined;
  /** No ratio is looked at below so many calls in the window; Infinity switches the ratios off. */
  readonly minCalls: number;
  /** At least this share of failed calls opens it; the base of the adaptive threshold. */
  readonly failureRatio: number;
  /** A call at least this long is slow. */
  readonly slowMs: number;
  /** At least this share of slow calls opens it; Infinity switches this off. */
  readonly slowRatio: number;
  /** So many failures in a row open it whatever the ratio; scales with the adaptive threshold; Infinity: off. */
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
  /** Good ones among them that close it; of the declared probe so many in a row. */
  readonly probesToClose: number;
  /**
   * Half-open calls go one by one, so far apart that they are at most this share of the traffic before (but one a
   * second), all `probes` of them are judged, and the conditions below must hold. `undefined`: they go at once.
   */
  readonly halfOpenShare: number | undefined;
  /** While it is open a declared probe is sent, and no call is let through until it has succeeded. */
  readonly declaredProbe: boolean;
  /** Whether it listens to the breakers of other processes for the same upstream, see `Breaker.hinted`. */
  readonly hints: boolean;
  /** A probe that reports nothing for this long frees its place. */
  readonly probeLeaseMs: number;
  /** Share of calls let through at the start of the ramp. */
  readonly rampFrom: number;
  readonly rampMs: number;
  /**
   * Checked at the end of the ramp over its own calls, with a share also at the end of half-open: p95 must be below, the
   * share of successes above; else it opens again. `undefined` switches a condition off.
   */
  readonly closeP95Ms: number | undefined;
  readonly closeSuccessRatio: number | undefined;
  readonly adaptive: AdaptiveOptions;
}

/** Defaults for a bucket that allows more than 5 calls per second. */
export const breakerDefaults: BreakerOptions = {
  windowMs: 10_000,
  mode: 'buckets',
  buckets: 10,
  elastic: undefined,
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
  halfOpenShare: undefined,
  declaredProbe: false,
  hints: false,
  probeLeaseMs: 15_000,
  rampFrom: 0.5,
  rampMs: 3_000,
  closeP95Ms: undefined,
  closeSuccessRatio: undefined,
  adaptive: { factor: 1.2, max: 0.7, decayMs: 300_000 },
};

/** Defaults for a bucket that allows 5 calls per second or fewer: it would need too long to gather 20 calls. */
export const slowBucketBreakerDefaults: BreakerOptions = { ...breakerDefaults, minCalls: 8, consecutiveFailures: 6 };

const positiveTimes = ['windowMs', 'coolDownMs', 'maxOpenMs', 'probeLeaseMs'] as const;
const counts = ['minCalls', 'consecutiveFailures', 'probes', 'probesToClose'] as const;

/** Throws a RangeError that names option, range and value of the first mistake. */
export function checkBreakerOptions(options: BreakerOptions): void {
  for (const name of positiveTimes) need(options[name] > 0 && options[name] < Infinity, name, '> 0', options[name]);
  for (const name of counts) need(options[name] >= 1, name, '>= 1', options[name]);
  for (const name of ['failureRatio', 'rampFrom'] as const) {
    need(options[name] > 0 && options[name] <= 1, name, 'in (0, 1]', options[name]);
  }
  need(options.slowMs > 0, 'slowMs', '> 0', options.slowMs);
  need(options.slowRatio > 0, 'slowRatio', '> 0', options.slowRatio);
  const { probes, probesToClose, halfOpenShare, rampMs, openJitter, minInFlight, adaptive } = options;
  const share = halfOpenShare ?? 1;
  need(share > 0 && share <= 1, 'halfOpenShare', 'in (0, 1]', share);
  need(probesToClose <= probes, 'probesToClose', `<= probes (${probes})`, probesToClose);
  need(rampMs >= 0 && rampMs < Infinity, 'rampMs', '>= 0', rampMs);
  need(openJitter >= 0 && openJitter <= 1, 'openJitter', 'in [0, 1]', openJitter);
  need(minInFlight >= 0, 'minInFlight', '>= 0', minInFlight);
  need(adaptive.factor >= 1 && adaptive.factor < Infinity, 'adaptive.factor', '>= 1', adaptive.factor);
  need(adaptive.max > 0 && adaptive.max <= 1, 'adaptive.max', 'in (0, 1]', adaptive.max);
  need(adaptive.decayMs > 0, 'adaptive.decayMs', '> 0', adaptive.decayMs);
}

function need(holds: boolean, name: string, range: string, value: number): void {
  if (!holds) throw new RangeError(`breaker.${name} must be ${range}, got ${value}`);
}
