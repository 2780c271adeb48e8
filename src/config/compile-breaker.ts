import { type BreakerOptions, breakerDefaults } from '../operators/breaker/options.ts';

import type { RawUpstream } from './schema-upstream.ts';

/** A rule with this limit never applies; a number, so that arithmetic on it stays sound. */
export const never = Number.MAX_SAFE_INTEGER;

/** Makes the options of a breaker out of a complete raw one. */
export function compileBreaker(raw: Exclude<NonNullable<RawUpstream['breaker']>, 'off'>): BreakerOptions {
  const d = breakerDefaults;
  const limit = (value: number | 'off' | undefined, fallback: number) =>
    value === 'off' ? never : (value ?? fallback);
  const windowMs = raw.window?.maxMs ?? raw.window?.ms ?? d.windowMs;
  const minCalls = limit(raw.minCalls, d.minCalls);
  const minMs = raw.window?.minMs;
  return {
    windowMs,
    mode: raw.mode ?? d.mode,
    buckets: raw.buckets ?? d.buckets,
    elastic: minMs === undefined ? undefined : { minMs, targetCalls: raw.window?.targetCalls ?? minCalls },
    minCalls,
    failureRatio: raw.failureRatio ?? d.failureRatio,
    // No call lasts that long: the slow rule is off.
    slowMs: raw.slowRatio === 'off' ? never : (raw.slowMs ?? d.slowMs),
    slowRatio: raw.slowRatio === 'off' ? 1 : (raw.slowRatio ?? d.slowRatio),
    consecutiveFailures: limit(raw.consecutiveFailures, d.consecutiveFailures),
    minInFlight: raw.minInFlight ?? d.minInFlight,
    coolDownMs: raw.coolDownMs ?? d.coolDownMs,
    maxOpenMs: raw.maxOpenMs ?? d.maxOpenMs,
    openJitter: raw.openJitter ?? d.openJitter,
    probes: raw.probes ?? d.probes,
    probesToClose: raw.successesInARow ?? d.probesToClose,
    probeLeaseMs: raw.probeLeaseMs ?? d.probeLeaseMs,
    halfOpenShare: raw.halfOpenShare,
    // Whether there is somebody to ask is known when the upstream is built.
    declaredProbe: false,
    hints: raw.hints ?? d.hints,
    rampFrom: raw.rampFrom ?? d.rampFrom,
    rampMs: raw.rampMs ?? d.rampMs,
    closeP95Ms: raw.closeWhen?.p95Ms,
    closeSuccessRatio: raw.closeWhen?.successRatio,
    adaptive: { ...d.adaptive, ...raw.adaptive },
  };
}
