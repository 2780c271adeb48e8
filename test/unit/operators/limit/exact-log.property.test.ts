import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { ExactLog } from '../../../../src/operators/index.ts';

type Log = Pick<ExactLog, 'take' | 'waitMs' | 'giveBack'>;
type Make = () => Log;

const windows = [
  { limit: 5, windowMs: 1_000 },
  { limit: 12, windowMs: 10_000 },
] as const;

const step = fc.record({
  dtMs: fc.oneof({ weight: 5, arbitrary: fc.nat({ max: 150 }) }, { weight: 1, arbitrary: fc.nat({ max: 12_000 }) }),
  /** How many ask at this moment; 0: one of the last grants is given back. */
  asks: fc.integer({ min: 0, max: 4 }),
  pick: fc.nat({ max: 4 }),
});

/** 16: no half-open window of any length holds more starts than its limit; 17: `wait` is exact. */
const isExact = (make: Make) =>
  fc.property(fc.array(step, { minLength: 60, maxLength: 300, size: 'max' }), (steps) => {
    const log = make();
    const starts: number[] = [];
    const fits = (nowMs: number): boolean =>
      windows.every(({ limit, windowMs }) => starts.filter((atMs) => atMs > nowMs - windowMs).length < limit);
    let nowMs = 0;
    return steps.every(({ dtMs, asks, pick }) => {
      nowMs += dtMs;
      if (asks === 0 && starts.length > 0) {
        const [unused] = starts.splice(Math.max(0, starts.length - 1 - pick), 1);
        if (unused !== undefined) log.giveBack(unused);
      }
      for (let i = 0; i < asks; i++) {
        const waitMs = log.waitMs(nowMs);
        // A model that filters all starts knows when the next one fits: not a millisecond before, but then.
        if (waitMs > 0 && (fits(nowMs + waitMs - 1) || !fits(nowMs + waitMs))) return false;
        if (log.take(nowMs) !== fits(nowMs)) return false;
        if (waitMs === 0) starts.push(nowMs);
        if (windows.some(({ limit, windowMs }) => starts.filter((at) => at > nowMs - windowMs).length > limit))
          return false;
      }
      return true;
    });
  });
const runs = { numRuns: 200, seed: 16 };
const real: Make = () => new ExactLog(windows);

const bucket: Make = () => {
  let [credit, lastMs] = [5, 0];
  const refill = (nowMs: number): number => {
    credit = Math.min(5, credit + ((nowMs - lastMs) * 5) / 1_000);
    lastMs = nowMs;
    return credit;
  };
  return {
    take: (nowMs) => refill(nowMs) >= 1 && ((credit -= 1), true),
    waitMs: (nowMs) => (refill(nowMs) >= 1 ? 0 : Math.ceil((1 - credit) * 200)),
    giveBack: () => void (credit += 1),
  };
};

const dropsTheNewest: Make = () => {
  const log = new ExactLog(windows);
  const taken: number[] = [];
  return {
    take: (nowMs) => log.take(nowMs) && taken.push(nowMs) > 0,
    waitMs: (nowMs) => log.waitMs(nowMs),
    giveBack: () => log.giveBack(taken.pop() ?? -1),
  };
};

describe('ExactLog, invariants 16 and 17', () => {
  it('holds every window and knows to the millisecond when the next grant is free', () => {
    fc.assert(isExact(real), runs);
  });

  it.each<[string, Make]>([
    ['is a token bucket', bucket],
    ['forgets the longer window', () => new ExactLog([windows[0]])],
    ['forgets the shorter window', () => new ExactLog([windows[1]])],
    ['waits a millisecond too long', () => new ExactLog(windows.map((w) => ({ ...w, windowMs: w.windowMs + 1 })))],
    ['waits a millisecond too little', () => new ExactLog(windows.map((w) => ({ ...w, windowMs: w.windowMs - 1 })))],
    ['gives back the newest grant instead of the unused one', dropsTheNewest],
  ])('is caught when it %s', (_, mutant) => {
    expect(fc.check(isExact(mutant), runs).failed).toBe(true);
  });
});
