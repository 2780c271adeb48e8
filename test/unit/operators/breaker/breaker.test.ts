import { describe, expect, it } from 'vitest';

import { always, Bench } from './support.ts';

describe('Breaker, closed', () => {
  it('S3: has only the 8 later calls in its window after 10,000 ms', () => {
    const bench = new Bench();
    bench.failures(12);
    bench.nowMs = 10_000;
    bench.successes(1);
    bench.failures(7);

    expect(bench.breaker.snapshot(10_000)).toMatchObject({ calls: 8, failures: 7 });
  });

  it('does not miss its own bound by a rounding error: 11 of 20 at 0.55', () => {
    const bench = new Bench({ failureRatio: 0.55, adaptive: { factor: 1, max: 0.55, decayMs: 1 } });
    bench.successes(9);
    bench.failures(10);
    expect(bench.state).toBe('closed');

    bench.failures(1);
    expect(bench.state).toBe('open');
  });

  it('says whether a failure is the fault of its record: only while closed and below the threshold', () => {
    const bench = new Bench();
    bench.failures(14);
    expect(bench.breaker.healthy(0)).toBe(true);

    bench.failures(1);
    expect(bench.breaker.healthy(0)).toBe(false);
    bench.nowMs = 1_000;
    bench.successes(4);
    expect([bench.state, bench.breaker.healthy(1_000)]).toEqual(['ramp', false]);
  });

  it('is not healthy above the threshold, even where the load rule keeps it closed', () => {
    const bench = new Bench({ minInFlight: 200, consecutiveFailures: Infinity });
    bench.calls(20, true, 50, 10);

    expect([bench.state, bench.breaker.healthy(0)]).toEqual(['closed', false]);
  });
});

describe('Breaker, open and half-open', () => {
  it('adds up to a fifth to the time in open', () => {
    const bench = new Bench({}, always(0.5));
    bench.failures(15);

    expect(bench.untilMs).toBe(1_100);
  });

  it('closes also when there is only one call every 20 s: good probes are not forgotten between calls', () => {
    const bench = new Bench();
    bench.openAndWait();
    for (let i = 0; i < 4; i++) {
      bench.successes(1);
      bench.nowMs += 20_000;
    }

    expect(bench.state).toBe('ramp');
  });

  it('refuses nobody in peek while probe places are free, and changes nothing', () => {
    const bench = new Bench();
    bench.openAndWait();
    for (let i = 0; i < 5; i++) {
      expect(bench.untilMs).toBeUndefined();
      bench.permit();
    }
    const before = bench.breaker.snapshot(bench.nowMs);

    expect(bench.untilMs).toBe(bench.nowMs + 15_000);
    expect(bench.breaker.snapshot(bench.nowMs)).toEqual(before);
  });

  it('S000-47: with a cool-down of 60 s it refuses at 59.999 s and grants a probe at 60.001 s', () => {
    const bench = new Bench({ coolDownMs: 60_000, maxOpenMs: 60_000 });
    bench.failures(15);
    bench.nowMs = 59_999;
    expect(bench.refused()).toBe(true);

    bench.nowMs = 60_001;
    expect(bench.refused()).toBe(false);
    expect(bench.state).toBe('half-open');
  });
});
