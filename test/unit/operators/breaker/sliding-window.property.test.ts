import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { SlidingWindow } from '../../../../src/operators/breaker/sliding-window.ts';

type Window = Pick<SlidingWindow, 'record' | 'calls' | 'failures' | 'slow'>;
type Make = () => Window;

const windowMs = 10_000;
const buckets = 10;
const widthMs = windowMs / buckets;

const step = fc.record({
  // Mostly small steps, some of a window or more, some back.
  dtMs: fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 0, max: 900 }) },
    { weight: 2, arbitrary: fc.integer({ min: 900, max: 25_000 }) },
    { weight: 1, arbitrary: fc.integer({ min: -5_000, max: 0 }) },
  ),
  write: fc.boolean(),
  failed: fc.boolean(),
  slow: fc.boolean(),
});

/** Totals equal those of a list of all calls that is filtered anew at each question. */
const equalsNaiveModel = (make: Make) =>
  fc.property(fc.array(step, { minLength: 30, maxLength: 200, size: 'max' }), (steps) => {
    const window = make();
    const all: { atMs: number; failed: boolean; slow: boolean }[] = [];
    let nowMs = 1_000_000;
    let newestMs = -Infinity;
    for (const { dtMs, write, failed, slow } of steps) {
      nowMs += dtMs;
      newestMs = Math.max(newestMs, nowMs);
      if (write) {
        window.record(nowMs, failed, slow);
        all.push({ atMs: newestMs, failed, slow });
      }
      const head = Math.floor(newestMs / widthMs);
      const counted = all.filter(({ atMs }) => Math.floor(atMs / widthMs) > head - buckets);
      const [calls, failures, slowOnes] = [window.calls(nowMs), window.failures(nowMs), window.slow(nowMs)];
      // 1: totals = naive model.
      if (calls !== counted.length) return false;
      if (failures !== counted.filter((call) => call.failed).length) return false;
      if (slowOnes !== counted.filter((call) => call.slow).length) return false;
      // 2: parts of the whole.
      if (failures > calls || slowOnes > calls || failures < 0 || slowOnes < 0) return false;
      // 3: nothing older than the window, everything younger than the window less one bucket.
      if (calls > all.filter(({ atMs }) => atMs > newestMs - windowMs).length) return false;
      if (calls < all.filter(({ atMs }) => atMs > newestMs - windowMs + widthMs).length) return false;
    }
    return true;
  });
const runs = { numRuns: 300, seed: 11 };

const real: Make = () => new SlidingWindow({ windowMs, buckets });

/** A window that is told another time than the true one. */
const misled =
  (tell: (nowMs: number, beforeMs: number) => number): Make =>
  () => {
    const window = real();
    let toldMs = 1_000_000;
    const told = (nowMs: number): number => (toldMs = tell(nowMs, toldMs));
    return {
      record: (nowMs, failed, slow) => window.record(told(nowMs), failed, slow),
      calls: (nowMs) => window.calls(told(nowMs)),
      failures: (nowMs) => window.failures(told(nowMs)),
      slow: (nowMs) => window.slow(told(nowMs)),
    };
  };

const turnsOnWritesOnly: Make = () => {
  const window = real();
  let lastMs = 1_000_000;
  return {
    record: (nowMs, failed, slow) => window.record((lastMs = Math.max(lastMs, nowMs)), failed, slow),
    calls: () => window.calls(lastMs),
    failures: () => window.failures(lastMs),
    slow: () => window.slow(lastMs),
  };
};

const startsOverWhenTheClockGoesBack: Make = () => {
  const window = new SlidingWindow({ windowMs, buckets });
  let lastMs = 0;
  const seen = (nowMs: number): number => {
    if (nowMs < lastMs) window.clear();
    return (lastMs = nowMs);
  };
  return {
    record: (nowMs, failed, slow) => window.record(seen(nowMs), failed, slow),
    calls: (nowMs) => window.calls(seen(nowMs)),
    failures: (nowMs) => window.failures(seen(nowMs)),
    slow: (nowMs) => window.slow(seen(nowMs)),
  };
};

const countsFailuresTwice: Make = () => {
  const window = new SlidingWindow({ windowMs, buckets });
  return {
    record: (nowMs, failed, slow) => window.record(nowMs, failed, slow),
    calls: (nowMs) => window.calls(nowMs),
    failures: (nowMs) => 2 * window.failures(nowMs),
    slow: (nowMs) => window.slow(nowMs),
  };
};

describe('SlidingWindow, invariants 1 to 3', () => {
  it('equals a naive model at every step, also when the clock goes back', () => {
    fc.assert(equalsNaiveModel(real), runs);
  });

  it.each<[string, Make]>([
    ['turns by one bucket per call', misled((nowMs, beforeMs) => Math.min(nowMs, beforeMs + widthMs))],
    ['keeps one bucket too few', () => new SlidingWindow({ windowMs: windowMs - widthMs, buckets: buckets - 1 })],
    ['keeps one bucket too many', () => new SlidingWindow({ windowMs: windowMs + widthMs, buckets: buckets + 1 })],
    ['turns on writes only', turnsOnWritesOnly],
    ['starts over when the clock goes back', startsOverWhenTheClockGoesBack],
    ['counts more failures than calls', countsFailuresTwice],
  ])('is caught when it %s', (_, mutant) => {
    expect(fc.check(equalsNaiveModel(mutant), runs).failed).toBe(true);
  });
});
