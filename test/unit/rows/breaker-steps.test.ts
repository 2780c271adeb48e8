import { describe, expect, it } from 'vitest';

import { never } from '../../../src/config/compile-breaker.ts';
import { seededRandom } from '../../support/virtual-time.ts';
import { Bench } from '../operators/breaker/support.ts';

const minute = 60_000;
const ratioAlone = { minCalls: 100, slowRatio: Infinity, consecutiveFailures: never, openJitter: 0 } as const;
// The breaker opens at its ratio or above; these rules say "more than".
const above = (ratio: number): number => ratio + 1e-9;

describe('failures in a row', () => {
  const platform = { minCalls: never, consecutiveFailures: 5, coolDownMs: minute, maxOpenMs: minute, openJitter: 0 };
  const oneProbe = { probes: 1, probesToClose: 1, rampMs: 0 };

  it('S002-07: the fifth failure opens; four, a success and four do not', () => {
    const opens = new Bench(platform);
    opens.failures(4);
    expect(opens.state).toBe('closed');
    opens.failures(1);
    expect(opens.state).toBe('open');

    const stays = new Bench(platform);
    stays.failures(4);
    stays.successes(1);
    stays.failures(4);
    expect(stays.state).toBe('closed');
  });

  it('S002-08: open for 60 s to the millisecond, then one success closes', () => {
    const bench = new Bench({ ...platform, ...oneProbe });
    bench.failures(5);
    bench.nowMs = minute - 1;
    expect(bench.refused()).toBe(true);
    bench.nowMs = minute;
    bench.successes(1);
    bench.permit();

    expect(bench.state).toBe('closed');
  });

  it('S002-08: a failure re-opens it for another 60 s', () => {
    const bench = new Bench({ ...platform, ...oneProbe });
    bench.failures(5);
    bench.nowMs = minute;
    bench.failures(1);

    expect([bench.state, bench.untilMs]).toEqual(['open', 2 * minute]);
  });
});

describe('the share of failures', () => {
  it.each([
    [50, 'closed'],
    [51, 'open'],
  ])('S000-59: %i of 100 leave it %s, for 60 s', (failures, state) => {
    const bench = new Bench({ ...ratioAlone, failureRatio: above(0.5), coolDownMs: minute, maxOpenMs: minute });
    bench.successes(100 - failures);
    bench.failures(failures);

    expect([bench.state, bench.untilMs]).toEqual([state, state === 'open' ? minute : undefined]);
  });

  it.each([
    [30, 'closed'],
    [31, 'open'],
  ])('S004-14: with a threshold that starts at 0.3, %i of 100 leave it %s', (failures, state) => {
    const bench = new Bench({ ...ratioAlone, failureRatio: above(0.3) });
    bench.successes(100 - failures);
    bench.failures(failures);

    expect(bench.state).toBe(state);
  });

  it('S000-50: closed lets each of 100,000 calls through', () => {
    const random = seededRandom(50);
    const bench = new Bench({ ...ratioAlone, failureRatio: above(0.35) }, random);
    let refused = 0;
    for (let i = 0; i < 100_000; i++) {
      bench.nowMs = i;
      if (bench.refused()) refused++;
      else bench.calls(1, random.next() < 0.2);
    }

    expect([refused, bench.state]).toEqual([0, 'closed']);
  });
});

describe('the threshold that learns', () => {
  const gateway = { ...ratioAlone, failureRatio: above(0.3), windowMs: 7_000, buckets: 14 };
  const theta = (bench: Bench): number => Number(bench.breaker.snapshot(bench.nowMs).theta.toFixed(3));
  /** Failures enough for the threshold at hand; a good round of probes and a ramp prove that it was a blip. */
  const blip = (bench: Bench): void => {
    const failures = Math.floor(100 * theta(bench)) + 1;
    bench.successes(50 - Math.floor(failures / 2));
    bench.failures(Math.floor(failures / 2));
    bench.successes(100 - failures - (50 - Math.floor(failures / 2)));
    bench.failures(failures - Math.floor(failures / 2));
    expect(bench.state).toBe('open');
    bench.nowMs = bench.untilMs ?? NaN;
    bench.successes(4);
    bench.nowMs += 3_000;
    bench.successes(1);
    expect(bench.state).toBe('closed');
    // Out of the window again.
    bench.nowMs += 11_000;
  };

  it('S004-15: goes 0.30, 0.36, 0.432, 0.518, 0.622, 0.7, and stays there', () => {
    const bench = new Bench(gateway);
    const seen = [theta(bench)];
    for (let i = 0; i < 6; i++) {
      blip(bench);
      seen.push(theta(bench));
    }

    expect(seen).toEqual([0.3, 0.36, 0.432, 0.518, 0.622, 0.7, 0.7]);
  });

  it('S004-15: falls back to 0.30 in healthy time', () => {
    const bench = new Bench(gateway);
    for (let i = 0; i < 6; i++) blip(bench);
    const halfAfter: number[] = [];
    for (let s = 0; s < 7_200; s++) {
      bench.nowMs += 1_000;
      bench.successes(100);
      if (theta(bench) <= 0.5 && halfAfter.length === 0) halfAfter.push(s);
    }

    // Half of the way in five minutes.
    expect(Math.abs((halfAfter[0] ?? 0) - 300)).toBeLessThan(15);
    expect(theta(bench)).toBe(0.3);
  });

  /** An hour at 20 calls/s with 3 % noise and a blip of 3 s every 3 minutes: some 45 % of a window. */
  const hour = (factor: number): number => {
    const random = seededRandom(16);
    const bench = new Bench({ ...gateway, adaptive: { factor, max: 0.7, decayMs: 300_000 } }, random);
    for (let i = 0; i < 72_000; i++) {
      bench.nowMs = i * 50;
      const inBlip = bench.nowMs % 180_000 < 3_000 && bench.nowMs >= 180_000;
      const asked = bench.breaker.acquire(bench.nowMs);
      if (asked.kind === 'permit') bench.breaker.record(asked, bench.nowMs, inBlip || random.next() < 0.03, 30);
    }
    return bench.breaker.snapshot(bench.nowMs).openings;
  };

  it('S004-16: opens for fewer of twenty short ripples than a fixed threshold does', () => {
    const fixed = hour(1);
    const adaptive = hour(1.2);

    expect(fixed).toBeGreaterThanOrEqual(15);
    expect(adaptive).toBeLessThanOrEqual(fixed * 0.7);
  });

  it('S004-16: still catches an outage within 5 s, also at its highest threshold', () => {
    const bench = new Bench(gateway);
    for (let i = 0; i < 6; i++) blip(bench);
    expect(theta(bench)).toBe(0.7);
    for (let i = 0; i < 200; i++) {
      bench.nowMs += 50;
      bench.successes(1);
    }
    const startMs = bench.nowMs;
    while (bench.state === 'closed') {
      bench.nowMs += 50;
      bench.failures(1);
    }

    expect(bench.nowMs - startMs).toBeLessThanOrEqual(5_000);
  });
});
