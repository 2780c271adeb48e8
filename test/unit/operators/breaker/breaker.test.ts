import { describe, expect, it } from 'vitest';

import { always, Bench } from './support.ts';

describe('Breaker, closed', () => {
  it('S1: opens at the 15th failure in a row, for 1000 ms', () => {
    const bench = new Bench();
    bench.failures(14);
    expect(bench.state).toBe('closed');

    bench.failures(1);
    expect([bench.state, bench.untilMs]).toEqual(['open', 1_000]);
  });

  it('S2: judges the ratio from 20 calls on, at once', () => {
    const bench = new Bench();
    for (let i = 0; i < 19; i++) bench.calls(1, i % 2 === 0);
    expect(bench.state).toBe('closed');

    bench.failures(1);
    expect(bench.state).toBe('open');
  });

  it.each([
    [9_999, 'open'],
    [10_000, 'closed'],
  ])('S3: after 12 failures, a success and 7 failures %i ms later leave it %s', (laterMs, state) => {
    const bench = new Bench();
    bench.failures(12);
    bench.nowMs = laterMs;
    bench.successes(1);
    bench.failures(7);

    expect(bench.state).toBe(state);
  });

  it('S3: has only the 8 later calls in its window after 10,000 ms', () => {
    const bench = new Bench();
    bench.failures(12);
    bench.nowMs = 10_000;
    bench.successes(1);
    bench.failures(7);

    expect(bench.breaker.snapshot(10_000)).toMatchObject({ calls: 8, failures: 7 });
  });

  it.each([
    [15, 'closed'],
    [16, 'open'],
  ])('S10: with %i slow of 20 good calls it is %s', (slow, state) => {
    const bench = new Bench();
    bench.calls(20 - slow, false, 2_999);
    bench.calls(slow, false, 3_000);

    expect(bench.state).toBe(state);
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

  it('S11: a hundred neutral endings leave no trace', () => {
    const bench = new Bench();
    for (let i = 0; i < 100; i++) bench.breaker.release(bench.permit());

    expect(bench.breaker.snapshot(0)).toMatchObject({ state: 'closed', generation: 1, calls: 0, failures: 0 });
  });
});

describe('Breaker, open and half-open', () => {
  it('S5: refuses until its time is over, lets five probes through, and starts the ramp at the fourth success', () => {
    const bench = new Bench();
    bench.failures(15);
    bench.nowMs = 999;
    expect(bench.refused()).toBe(true);

    bench.nowMs = 1_000;
    const probes = Array.from({ length: 5 }, () => bench.permit());
    expect(bench.refused()).toBe(true);

    for (const [index, probe] of probes.slice(0, 4).entries()) {
      expect(bench.state).toBe('half-open');
      expect(bench.breaker.record(probe, 1_000, false, 10), `probe ${index}`).toBe(true);
    }
    expect(bench.state).toBe('ramp');
  });

  it('S6: waits 1, 2, 4, 8, 10 s between rounds of failing probes, two calls per round', () => {
    const bench = new Bench();
    bench.failures(15);
    const waits: number[] = [];
    for (let round = 0; round < 5; round++) {
      const untilMs = bench.untilMs ?? 0;
      waits.push(untilMs - bench.nowMs);
      bench.nowMs = untilMs;
      bench.failures(2);
      expect(bench.state).toBe('open');
    }

    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 10_000]);
  });

  it('adds up to a fifth to the time in open', () => {
    const bench = new Bench({}, always(0.5));
    bench.failures(15);

    expect(bench.untilMs).toBe(1_100);
  });

  it('S8: frees the places of probes that never report after 15 s, in a new generation', () => {
    const bench = new Bench();
    bench.openAndWait();
    const startMs = bench.nowMs;
    for (let i = 0; i < 5; i++) bench.permit();
    const { generation } = bench.breaker.snapshot(startMs);

    bench.nowMs = startMs + 14_999;
    expect(bench.refused()).toBe(true);
    expect(bench.untilMs).toBe(startMs + 15_000);

    bench.nowMs = startMs + 15_000;
    expect(bench.permit().generation).toBe(generation + 1);
    expect(bench.breaker.snapshot(bench.nowMs).leaseExpiries).toBe(1);
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

  it('S11: grants 50 neutral probes of 50 and stays half-open', () => {
    const bench = new Bench();
    bench.openAndWait();
    for (let i = 0; i < 50; i++) bench.breaker.release(bench.permit());

    expect(bench.state).toBe('half-open');
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
