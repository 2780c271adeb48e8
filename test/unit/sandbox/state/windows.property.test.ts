import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { ArrivalGauge, FixedWindow, SlidingWindow, type Window } from '../../../../src/sandbox/state/windows.ts';

const windowMs = 100;
const gaps = fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 1, maxLength: 200, size: 'max' });
const timesOf = (steps: readonly number[]) => {
  let nowMs = 0;
  return steps.map((step) => (nowMs += step));
};
/** The most of `times` in any (t - windowMs, t], counted the slow way. */
const mostIn = (times: readonly number[]) =>
  Math.max(0, ...times.map((end) => times.filter((t) => t > end - windowMs && t <= end).length));
const grantsOf = (window: Window, times: readonly number[]) =>
  times.filter((nowMs) => {
    if (window.waitMs(nowMs) > 0) return false;
    window.take(nowMs);
    return true;
  });

/** No window holds more than the limit, and nobody is refused while there is room. */
const isExact = (make: (limit: number) => Window) =>
  fc.property(fc.integer({ min: 1, max: 6 }), gaps, (limit, steps) => {
    const times = timesOf(steps);
    const window = make(limit);
    const granted: number[] = [];
    for (const nowMs of times) {
      const inWindow = granted.filter((t) => t > nowMs - windowMs).length;
      const fits = window.waitMs(nowMs) === 0;
      if (fits !== inWindow < limit) return false;
      if (!fits) continue;
      window.take(nowMs);
      granted.push(nowMs);
    }
    return mostIn(granted) <= limit;
  });

describe('windows', () => {
  it('a sliding window refuses exactly when its last stretch is full', () => {
    fc.assert(
      isExact((limit) => new SlidingWindow({ limit, windowMs })),
      { numRuns: 300, seed: 7 },
    );
  });

  it.each<[string, (limit: number) => Window]>([
    ['counts fixed windows', (limit) => new FixedWindow({ limit, windowMs })],
    ['forgets a millisecond early', (limit) => new SlidingWindow({ limit, windowMs: windowMs - 1 })],
    ['grants one too many', (limit) => new SlidingWindow({ limit: limit + 1, windowMs })],
  ])('is caught when it %s', (_, mutant) => {
    expect(fc.check(isExact(mutant), { numRuns: 300, seed: 7 }).failed).toBe(true);
  });

  it('a fixed window grants at most its limit between two boundaries, and waits for the next one', () => {
    const window = new FixedWindow({ limit: 2, windowMs });
    expect(grantsOf(window, [98, 99, 99, 100, 101, 102])).toEqual([98, 99, 100, 101]);
    expect(window.waitMs(130)).toBe(70);
  });

  it('a gauge knows the most arrivals that any stretch has held', () => {
    fc.assert(
      fc.property(gaps, (steps) => {
        const gauge = new ArrivalGauge(windowMs);
        const times = timesOf(steps);
        for (const nowMs of times) gauge.arrive(nowMs);
        return gauge.max === mostIn(times);
      }),
      { numRuns: 300, seed: 7 },
    );
  });
});
