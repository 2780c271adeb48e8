import { describe, expect, it } from 'vitest';

import { Bench } from './support.ts';

describe('Breaker, load rule', () => {
  it.each([
    [36, 201, 'open'],
    [36, 200, 'closed'],
    [35, 201, 'closed'],
  ])('S000-46: with %i %% failures and %i in flight it is %s', (failures, inFlight, state) => {
    // "More than 35 %": the threshold is where it opens, so it stands a hair above.
    const options = { failureRatio: 0.35 + 1e-9, minCalls: 100, minInFlight: 200, consecutiveFailures: Infinity };
    const bench = new Bench({ ...options, slowRatio: Infinity });
    bench.calls(failures, true, 50, inFlight);
    bench.calls(100 - failures, false, 50, inFlight);

    expect(bench.state).toBe(state);
  });

  it('counts its own open permits when nobody tells how many are in flight', () => {
    const bench = new Bench({ minInFlight: 20 });
    const few = Array.from({ length: 20 }, () => bench.permit());
    for (const permit of few) bench.breaker.record(permit, 0, true, 10);
    expect(bench.state).toBe('closed');

    const many = Array.from({ length: 21 }, () => bench.permit());
    bench.breaker.record(many[0]!, 0, true, 10);
    expect(bench.state).toBe('open');
  });
});

describe('Breaker, forced by a person', () => {
  it('refuses all while forced open, and says when to look again', () => {
    const bench = new Bench();
    bench.breaker.force('open');

    expect([bench.refused(), bench.untilMs]).toEqual([true, 10_000]);
    bench.nowMs = 1_000_000;
    expect(bench.refused()).toBe(true);
  });

  it.each([
    ['closed', 0],
    ['metrics-only', 100],
  ] as const)('lets all through while forced %s, counting %i', (state, counted) => {
    const bench = new Bench();
    bench.breaker.force(state);
    bench.failures(100);

    expect(bench.breaker.snapshot(0)).toMatchObject({ state: 'closed', forced: state, calls: counted, openings: 0 });
  });

  it('starts a new generation when it is forced and when it is let go: older results count for nothing', () => {
    const bench = new Bench();
    const early = bench.permit();
    bench.breaker.force('open');
    bench.breaker.force(undefined);

    expect(bench.breaker.record(early, 0, true, 10)).toBe(false);
    expect(bench.breaker.snapshot(0)).toMatchObject({ state: 'closed', generation: 3, calls: 0, lateResults: 1 });
  });
});

describe('Breaker, options', () => {
  it.each([
    [{ failureRatio: 0 }, 'breaker.failureRatio must be in (0, 1], got 0'],
    [{ failureRatio: 1.1 }, 'breaker.failureRatio must be in (0, 1], got 1.1'],
    [{ probes: 3 }, 'breaker.probesToClose must be <= probes (3), got 4'],
    [{ coolDownMs: NaN }, 'breaker.coolDownMs must be > 0, got NaN'],
    [{ minCalls: 0 }, 'breaker.minCalls must be >= 1, got 0'],
    [{ adaptive: { factor: 0.9, max: 0.7, decayMs: 1 } }, 'breaker.adaptive.factor must be >= 1, got 0.9'],
  ])('refuses %j', (options, message) => {
    expect(() => new Bench(options)).toThrow(new RangeError(message));
  });
});
