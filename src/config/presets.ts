import type { presetNames, RawUpstream } from './schema-upstream.ts';

/** Name of a preset. */
export type PresetName = (typeof presetNames)[number];

// The breaker opens at its ratio or above; these rules say "more than". No window holds enough calls to tell a
// billionth from nothing.
const moreThan = (ratio: number): number => ratio + 1e-9;

const platformConcurrency: Readonly<Record<string, number>> = { weather: 10, news: 5, stock: 5, ip: 10 };

/** Numbers to start from, in the words of the file. Some depend on the name of the upstream. */
export function preset(name: PresetName, upstream: string): RawUpstream {
  switch (name) {
    // Trips on ratio and load together; while it is open the token endpoint is asked, then it comes back through a twentieth
    // of the traffic. A hundred calls are judged, so that one failure among them is allowed at more than 98 %. Its waits are min(2^n x 0.1 s, 30 s)
    // with n = 1 for the first retry; `baseMs` is the first wait itself, so 200.
    case 'bot':
      return {
        retry: { baseMs: 200, capMs: 30_000, jitter: { proportional: 0.5 } },
        breaker: {
          window: { ms: 60_000 },
          mode: 'exact',
          failureRatio: moreThan(0.35),
          slowRatio: 'off',
          consecutiveFailures: 'off',
          minInFlight: 200,
          coolDownMs: 60_000,
          maxOpenMs: 60_000,
          openJitter: 0,
          probes: 100,
          successesInARow: 3,
          halfOpenShare: 0.05,
          closeWhen: { p95Ms: 120, successRatio: 0.98 },
          probe: { headers: { 'X-Feishu-Health-Check': 'true' }, withinMs: 800 },
        },
        // The load rule needs more than 200 calls in flight to be reachable.
        concurrency: 256,
        bucketConcurrency: 256,
      };
    case 'sdk':
      return {
        retry: { maxAttempts: 4, baseMs: 1_000, jitter: { proportional: 0 } },
        breaker: {
          failureRatio: moreThan(0.5),
          slowRatio: 'off',
          consecutiveFailures: 'off',
          coolDownMs: 60_000,
          maxOpenMs: 60_000,
          openJitter: 0,
        },
        fallback: { afterAttempts: 3 },
      };
    // Five in a row and nothing else: a success resets the count, one good probe closes at once.
    case 'platform':
      return {
        concurrency: platformConcurrency[upstream] ?? 5,
        timeouts: { attemptMs: 3_000 },
        breaker: {
          minCalls: 'off',
          slowRatio: 'off',
          consecutiveFailures: 5,
          coolDownMs: 60_000,
          maxOpenMs: 60_000,
          openJitter: 0,
          probes: 1,
          successesInARow: 1,
          rampFrom: 1,
          adaptive: { factor: 1 },
        },
        fallback: { cacheTtlMs: 300_000, afterAttempts: 0 },
      };
    case 'gateway':
      return {
        connections: upstream === 'route' ? 200 : 50,
        timeouts: { attemptMs: 1_000, totalMs: 3_000 },
        retry: { maxAttempts: 4, baseMs: 100, capMs: 1_000, jitter: { proportional: 0.3 } },
        breaker: {
          // An outage fills 0.7 of it, the highest threshold, within 5 s; a ripple of 3 s fills less than half.
          window: { ms: 7_000 },
          buckets: 14,
          failureRatio: moreThan(0.3),
          slowRatio: 'off',
          consecutiveFailures: 'off',
          adaptive: { factor: 1.2, max: 0.7 },
        },
      };
  }
}
