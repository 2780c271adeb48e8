import { describe, expect, it } from 'vitest';

import { Bench } from './support.ts';

describe('Breaker, ramp', () => {
  it('keeps its generation and its window when it closes', () => {
    const bench = new Bench();
    bench.toRamp();
    bench.failures(3);
    const { generation } = bench.breaker.snapshot(bench.nowMs);
    bench.nowMs += 3_000;
    bench.permit();

    expect(bench.breaker.snapshot(bench.nowMs)).toMatchObject({ state: 'closed', generation, calls: 3, failures: 3 });
  });

  it('may open again, for longer', () => {
    const bench = new Bench();
    bench.toRamp();
    bench.failures(15);

    expect([bench.state, (bench.untilMs ?? 0) - bench.nowMs]).toEqual(['open', 2_000]);
  });

  it.each([
    ['S000-48: closes at p95 119 ms and 98.1 % success', 119, 981, 'closed'],
    ['S000-49: opens again at p95 121 ms', 121, 981, 'open'],
    ['S000-49: opens again at 97.9 % success', 119, 979, 'open'],
    ['needs less than 120 ms', 120, 981, 'open'],
    ['needs more than 98 %', 119, 980, 'open'],
  ])('%s', (_, p95Ms, okOf1000, state) => {
    const bench = new Bench({ closeP95Ms: 120, closeSuccessRatio: 0.98, minCalls: Infinity, consecutiveFailures: 30 });
    bench.toRamp();
    const before = bench.breaker.snapshot(bench.nowMs);
    bench.calls(okOf1000 - 64, false, 10);
    bench.calls(1_000 - okOf1000, true, 10);
    // The last 64 decide: 60 of them at the limit or below.
    bench.calls(61, false, p95Ms);
    bench.calls(3, false, 500);
    bench.nowMs += 3_000;
    bench.breaker.acquire(bench.nowMs);

    const after = bench.breaker.snapshot(bench.nowMs);
    expect(after.state).toBe(state);
    expect(after.generation - before.generation).toBe(state === 'open' ? 1 : 0);
  });

  it('closes without conditions when nothing was called during the ramp', () => {
    const bench = new Bench({ closeP95Ms: 120, closeSuccessRatio: 0.98 });
    bench.toRamp();
    bench.nowMs += 3_000;

    expect(bench.refused()).toBe(false);
    expect(bench.state).toBe('closed');
  });
});

describe('Breaker, adaptive threshold', () => {
  const blip = (bench: Bench): void => {
    bench.toRamp();
    bench.nowMs += 3_000;
    bench.successes(1);
  };
  const theta = (bench: Bench): number => bench.breaker.snapshot(bench.nowMs).theta;

  it('rises by a fifth after each blip, up to 0.7, and the rule of failures in a row with it: 15, 18, 21', () => {
    const bench = new Bench({ minCalls: Infinity });
    const seen: [number, number][] = [];
    for (let i = 0; i < 4; i++) {
      let inARow = 0;
      while (bench.state === 'closed') {
        bench.failures(1);
        inARow++;
      }
      seen.push([theta(bench), inARow]);
      blip(bench);
    }

    expect(seen.map(([at, inARow]) => [Number(at.toFixed(3)), inARow])).toEqual([
      [0.5, 15],
      [0.6, 18],
      [0.7, 21],
      [0.7, 21],
    ]);
  });

  it('learns nothing from an outage, in which it opened again', () => {
    const bench = new Bench();
    bench.openAndWait();
    bench.failures(2);
    blip(bench);

    expect(theta(bench)).toBe(0.5);
  });

  it('falls half the way back in five minutes of healthy traffic, and not in time without any', () => {
    const healthy = new Bench();
    blip(healthy);
    const idle = new Bench();
    blip(idle);
    for (let ms = 0; ms < 300_000; ms += 100) {
      healthy.nowMs += 100;
      healthy.successes(1);
    }
    idle.nowMs += 300_000;
    idle.successes(1);

    expect(theta(healthy)).toBeCloseTo(0.55, 2);
    expect(theta(idle)).toBe(0.6);
  });

  it('does not fall while a quarter of the calls fail', () => {
    const bench = new Bench();
    blip(bench);
    for (let ms = 0; ms < 60_000; ms += 100) {
      bench.nowMs += 100;
      bench.calls(1, ms % 300 === 0);
    }

    expect(theta(bench)).toBeCloseTo(0.6, 2);
  });

  it('stays where it is with factor 1', () => {
    const bench = new Bench({ adaptive: { factor: 1, max: 0.7, decayMs: 300_000 } });
    blip(bench);

    expect(theta(bench)).toBe(0.5);
  });
});
