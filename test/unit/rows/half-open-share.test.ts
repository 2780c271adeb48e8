import { describe, expect, it } from 'vitest';

import { never } from '../../../src/config/compile-breaker.ts';
import { Bench } from '../operators/breaker/support.ts';

describe('half-open by share', () => {
  const bot = {
    minCalls: 100,
    slowRatio: Infinity,
    consecutiveFailures: never,
    openJitter: 0,
    failureRatio: 0.35 + 1e-9,
    coolDownMs: 60_000,
    maxOpenMs: 60_000,
    probes: 100,
    halfOpenShare: 0.05,
    closeP95Ms: 120,
    closeSuccessRatio: 0.98,
  } as const;
  /** A thousand a second until it opens. */
  const opened = (): Bench => {
    const bench = new Bench(bot);
    for (let i = 0; i < 5_000; i++) {
      bench.nowMs = i;
      bench.successes(1);
    }
    while (bench.state === 'closed') {
      bench.nowMs += 1;
      bench.failures(1);
    }
    return bench;
  };

  it('S000-51: under 1,000 calls/s at most 50 go through in any second', () => {
    const bench = opened();
    bench.nowMs = bench.untilMs ?? NaN;
    const startMs = bench.nowMs;
    const sentMs: number[] = [];
    while (bench.state !== 'ramp' && bench.nowMs < startMs + 10_000) {
      const asked = bench.breaker.acquire(bench.nowMs);
      if (asked.kind === 'permit') {
        sentMs.push(bench.nowMs);
        bench.breaker.record(asked, bench.nowMs, false, 50);
      }
      bench.nowMs += 1;
    }
    const mostInASecond = Math.max(...sentMs.map((atMs) => sentMs.filter((t) => t >= atMs && t < atMs + 1_000).length));

    expect(bench.state).toBe('ramp');
    expect(sentMs).toHaveLength(100);
    expect(mostInASecond).toBeLessThanOrEqual(50);
    expect(mostInASecond).toBeGreaterThan(25);
  });

  const tried = (failures: number, slowOnes: number, slowMs: number): string => {
    const bench = opened();
    bench.nowMs = bench.untilMs ?? NaN;
    for (let i = 0; i < 100 && (i === 0 || bench.state !== 'open'); i++) {
      const asked = bench.permit();
      bench.breaker.record(asked, bench.nowMs, i < failures, i >= 100 - slowOnes ? slowMs : 50);
      bench.nowMs += 1_000;
    }
    return bench.state;
  };

  it.each([
    ['S000-48: all good and fast', 0, 0, 'ramp'],
    ['S000-48: 99 % good, and 3 of the last 64 above 120 ms', 1, 3, 'ramp'],
    ['S000-49: 98 % good is not more than 98 %', 2, 0, 'open'],
    ['S000-49: 4 of the last 64 above 120 ms are a p95 above it', 0, 4, 'open'],
  ])('%s: of a hundred judged calls, then %s', (_, failures, slowOnes, state) => {
    expect(tried(failures, slowOnes, 121)).toBe(state);
  });

  it('S000-49: opens again at once when it can no longer succeed, in a new generation', () => {
    const bench = opened();
    bench.nowMs = bench.untilMs ?? NaN;
    bench.permit();
    const { generation } = bench.breaker.snapshot(bench.nowMs);
    for (let i = 0; i < 2; i++) {
      bench.nowMs += 1_000;
      bench.failures(1);
    }

    expect(bench.breaker.snapshot(bench.nowMs)).toMatchObject({ state: 'open', generation: generation + 1 });
  });

  it('lets one a second through where the traffic was little', () => {
    const bench = new Bench({ ...bot, minCalls: 5 });
    bench.failures(5);
    bench.nowMs = bench.untilMs ?? NaN;
    bench.permit();

    expect(bench.untilMs).toBe(bench.nowMs + 1_000);
  });

  it('starts anew when calls never report', () => {
    const bench = new Bench({ ...bot, minCalls: 5, probes: 2, probesToClose: 2 });
    bench.failures(5);
    bench.nowMs = bench.untilMs ?? NaN;
    bench.permit();
    bench.nowMs += 1_000;
    bench.permit();
    expect(bench.refused()).toBe(true);
    bench.nowMs += 15_000;
    bench.permit();

    expect(bench.breaker.snapshot(bench.nowMs)).toMatchObject({ state: 'half-open', leaseExpiries: 1 });
  });
});
