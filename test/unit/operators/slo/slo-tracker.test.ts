import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { CountRing, type Counts } from '../../../../src/operators/slo/count-ring.ts';
import { defaultBurnRates, sloDefaults, SloTracker } from '../../../../src/operators/slo/slo-tracker.ts';

const hour = 3_600_000;
const tracker = (objective: number, windowMs = 7 * 24 * hour): SloTracker =>
  new SloTracker({ objective, windowMs, burnRates: sloDefaults.burnRates });

describe('an objective', () => {
  it('S000-83: tells what was measured and what is left of its error budget', () => {
    const slo = tracker(0.99);
    expect(slo.view(0)).toMatchObject({ objective: 0.99, good: 0, bad: 0, measured: undefined, budgetLeft: 1 });
    slo.count(0, { good: 995, bad: 5 });
    expect(slo.view(1_000).measured).toBe(0.995);
    expect(slo.view(1_000).budgetLeft).toBeCloseTo(0.5);
    slo.count(hour, { good: 0, bad: 15 });
    expect(slo.view(hour).budgetLeft).toBeLessThan(-0.9);
  });

  it('forgets what lies before its window', () => {
    const slo = tracker(0.9, 24 * hour);
    slo.count(0, { good: 0, bad: 10 });
    slo.count(12 * hour, { good: 10, bad: 0 });
    expect(slo.view(12 * hour)).toMatchObject({ good: 10, bad: 10 });
    expect(slo.view(25 * hour)).toMatchObject({ good: 10, bad: 0, budgetLeft: 1 });
  });

  it('burns when both windows of a rule are above its rate, and not when only one is', () => {
    const slo = tracker(0.999);
    const burning = (nowMs: number) =>
      slo
        .view(nowMs)
        .burns.filter((burn) => burn.burning)
        .map(({ severity }) => severity);
    for (let minute = 0; minute < 360; minute++) slo.count(minute * 60_000, { good: 100, bad: 0 });
    expect(burning(6 * hour)).toEqual([]);
    // Five bad minutes burn in the short window, and in the long one as soon as it is a fiftieth of the month.
    slo.count(6 * hour + 1_000, { good: 40, bad: 60 });
    const rate = slo.view(6 * hour + 1_000).burns[0];
    expect(rate?.shortRate).toBeGreaterThan(100);
    // 60 of some 6,100 in an hour are ten times the budget, which pages nobody yet.
    expect(rate?.longRate).toBeCloseTo(9.8, 0);
    expect(burning(6 * hour + 1_000)).toEqual([]);
    slo.count(6 * hour + 60_000, { good: 0, bad: 300 });
    expect(burning(6 * hour + 61_000)).toEqual(['page', 'ticket']);
    // It has stopped: the short windows say so first.
    for (let minute = 2; minute < 40; minute++) slo.count(6 * hour + minute * 60_000, { good: 100, bad: 0 });
    expect(burning(6 * hour + 40 * 60_000)).toEqual([]);
  });

  it.each([0.5, 0.9, 0.95, 0.99, 0.9999])('of %d burns by default when everything goes wrong', (objective) => {
    const slo = new SloTracker({ objective, windowMs: 24 * hour, burnRates: defaultBurnRates(objective) });
    slo.count(0, { good: 0, bad: 100 });
    expect(slo.view(1_000).burns.map(({ burning }) => burning)).toEqual([true, true]);
  });

  it('does not burn for a few failures at night', () => {
    const slo = tracker(0.999);
    slo.count(0, { good: 0, bad: 4 });
    expect(slo.view(1_000).burns.some(({ burning }) => burning)).toBe(false);
    slo.count(2_000, { good: 0, bad: 1 });
    expect(slo.view(3_000).burns.every(({ burning }) => burning)).toBe(true);
  });

  it.each([0, 1, -1, 2, Number.NaN])('cannot be %d', (objective) => {
    expect(() => tracker(objective)).toThrow(/slo\.objective must be in \(0, 1\)/);
  });
});

describe('counts in cells of time', () => {
  type Ring = Pick<CountRing, 'add' | 'within'>;
  const holds = (made: () => Ring) => {
    // Close together, so that a span holds many, and far apart, so that cells are used anew.
    const gap = fc.oneof(
      { weight: 9, arbitrary: fc.integer({ min: 0, max: 1_500 }) },
      fc.integer({ min: 0, max: 30_000 }),
    );
    const event = fc.tuple(gap, fc.boolean());
    const events = fc.array(event, { minLength: 1, maxLength: 300, size: 'max' });
    return fc.property(events, fc.oneof(fc.constant(20), fc.integer({ min: 1, max: 20 })), (moves, cells) => {
      const ring = made();
      const seen: { cell: number; good: boolean }[] = [];
      let atMs = 0;
      for (const [ms, good] of moves) {
        atMs += ms;
        ring.add(atMs, good ? { good: 1, bad: 0 } : { good: 0, bad: 1 });
        seen.push({ cell: Math.floor(atMs / 1_000), good });
      }
      const within = seen.filter(({ cell }) => cell > Math.floor(atMs / 1_000) - cells);
      const good = within.filter((one) => one.good).length;
      expect(ring.within(atMs, cells * 1_000)).toEqual({ good, bad: within.length - good });
    });
  };

  it('are those of the cells that the span reaches back to, whatever was counted when', () => {
    fc.assert(holds(() => new CountRing(1_000, 20)));
  });

  /** Reaches back one cell too far. */
  class ReachesTooFar extends CountRing {
    override within(nowMs: number, spanMs: number): Counts {
      return super.within(nowMs, spanMs + 1_000);
    }
  }

  /** Leaves in a cell what was counted one round before. */
  class NeverClears extends CountRing {
    readonly #before = Array.from({ length: 20 }, () => ({ good: 0, bad: 0 }));

    override add(nowMs: number, { good, bad }: Counts): void {
      const kept = this.#before[Math.floor(nowMs / 1_000) % 20]!;
      super.add(nowMs, { good: good + kept.good, bad: bad + kept.bad });
      kept.good += good;
      kept.bad += bad;
    }
  }

  it.each<readonly [string, () => Ring]>([
    ['with a cell too few', () => new CountRing(1_000, 19)],
    ['that reaches too far', () => new ReachesTooFar(1_000, 21)],
    ['that never clears a cell', () => new NeverClears(1_000, 20)],
  ])('the property catches one %s', (_name, made) => {
    expect(fc.check(holds(made), { seed: 7, numRuns: 1_000 }).failed).toBe(true);
  });
});
