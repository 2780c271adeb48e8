import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  AdaptiveConcurrency,
  adaptiveConcurrencyDefaults as defaults,
  type AdaptiveConcurrencyOptions,
} from '../../../../src/operators/index.ts';

const options: AdaptiveConcurrencyOptions = { ...defaults, ceiling: 32 };

describe('AdaptiveConcurrency', () => {
  it('starts at its ceiling; a timeout takes a tenth of it', () => {
    const width = new AdaptiveConcurrency(options);
    expect([width.limit, width.narrowed]).toEqual([32, false]);
    width.timedOut(0, 1_000);
    expect([width.limit, width.narrowed]).toEqual([28, true]);
  });

  it('takes timeouts of attempts that were under way together for one piece of news: at most half goes', () => {
    const width = new AdaptiveConcurrency(options);
    for (let i = 0; i < 32; i++) width.timedOut(900, 1_000);
    expect(width.limit).toBe(16);
    for (let i = 0; i < 16; i++) width.timedOut(1_000, 2_000);
    expect(width.limit).toBe(8);
    for (let round = 2; round < 9; round++)
      for (let i = 0; i < 8; i++) width.timedOut(round * 1_000, round * 1_000 + 999);
    expect(width.limit).toBe(4);
  });

  it('widens by one each 2 s while half of it is used, and not while it is not', () => {
    const width = new AdaptiveConcurrency(options);
    for (let i = 0; i < 32; i++) width.timedOut(0, 1_000);
    width.answered(2_999, 16);
    width.answered(3_000, 7);
    expect(width.limit).toBe(16);
    width.answered(3_000, 8);
    expect(width.limit).toBe(17);
    width.answered(4_999, 17);
    expect(width.limit).toBe(17);
    width.answered(5_000, 17);
    expect(width.limit).toBe(18);
  });

  it.each([32, 256, 1_000])('is back at a ceiling of %d about a minute after the last timeout', (ceiling) => {
    const width = new AdaptiveConcurrency({ ...options, ceiling });
    for (let round = 0; round < 20; round++) {
      for (let i = 0; i < ceiling; i++) width.timedOut(round * 1_000, round * 1_000 + 999);
    }
    expect(width.limit).toBe(4);
    let atMs = 20_000;
    for (; width.limit < ceiling && atMs < 100_000; atMs += 10) width.answered(atMs, width.limit);
    expect(atMs).toBeGreaterThan(70_000);
    expect(atMs).toBeLessThan(86_000);
  });

  it.each<[Partial<AdaptiveConcurrencyOptions>, string]>([
    [{ floor: 0 }, 'floor must be an integer >= 1, got 0'],
    [{ ceiling: 3 }, 'ceiling must be an integer >= floor, got 3'],
    [{ decrease: 0 }, 'decrease must be in (0, 1], got 0'],
    [{ raiseEveryMs: 0 }, 'raiseEveryMs must be > 0, got 0'],
  ])('refuses %o', (wrong, message) => {
    expect(() => new AdaptiveConcurrency({ ...options, ...wrong })).toThrow(new RangeError(message));
  });
});

type Width = Pick<AdaptiveConcurrency, 'limit' | 'timedOut' | 'answered'>;
const runs = { numRuns: 500, seed: 6 };

const anyEnding = fc.record({
  afterMs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 3_000 })),
  tookMs: fc.constantFrom(50, 1_000, 3_000),
  used: fc.double({ min: 0, max: 1, noNaN: true }),
  timeout: fc.boolean(),
});

/** Against the whole history: bounds, one step a time and only while used, no more than half per round. */
function keepsItsWord(make: () => Width) {
  return fc.property(fc.array(anyEnding, { minLength: 100, maxLength: 600, size: 'max' }), (endings) => {
    const width = make();
    let nowMs = 0;
    let movedMs = -Infinity;
    let round = { sinceMs: -Infinity, from: options.ceiling };
    for (const { afterMs, tookMs, used, timeout } of endings) {
      nowMs += afterMs;
      const before = width.limit;
      const inUse = Math.ceil(used * before);
      if (timeout) {
        const startedMs = nowMs - tookMs;
        if (startedMs >= round.sinceMs) round = { sinceMs: nowMs, from: before };
        width.timedOut(startedMs, nowMs);
        movedMs = nowMs;
        const least = Math.max(options.floor, Math.floor(round.from / 2));
        if (width.limit > before || width.limit < Math.min(before, least)) return false;
        if (before > least + 4 && width.limit === before) return false;
      } else {
        width.answered(nowMs, inUse);
        const grew = width.limit - before;
        const may = nowMs - movedMs >= options.raiseEveryMs && inUse * 2 >= before && before < options.ceiling;
        if (grew !== (may ? 1 : 0)) return false;
        if (grew > 0) movedMs = nowMs;
      }
      if (width.limit < options.floor || width.limit > options.ceiling) return false;
    }
    return true;
  });
}

describe('AdaptiveConcurrency, over any history', () => {
  it('stays in its bounds, falls by at most half per round, and widens step by step while it is used', () => {
    fc.assert(
      keepsItsWord(() => new AdaptiveConcurrency(options)),
      runs,
    );
  });

  const real = (changed: Partial<AdaptiveConcurrencyOptions> = {}) =>
    new AdaptiveConcurrency({ ...options, ...changed });
  const over = (inner: AdaptiveConcurrency, change: Partial<Width>): Width => ({
    get limit() {
      return inner.limit;
    },
    timedOut: (startedMs, nowMs) => inner.timedOut(startedMs, nowMs),
    answered: (nowMs, inUse) => inner.answered(nowMs, inUse),
    ...change,
  });
  it.each<[string, () => Width]>([
    ['goes below its floor', () => real({ floor: 1 })],
    ['goes above its ceiling', () => real({ ceiling: 33 })],
    ['widens too soon', () => real({ raiseEveryMs: 1_000 })],
    ['never narrows', () => real({ decrease: 1 })],
    [
      'takes each timeout for a round of its own',
      () => {
        const inner = real();
        return over(inner, { timedOut: (_, nowMs) => inner.timedOut(nowMs, nowMs) });
      },
    ],
    [
      'widens what nobody uses',
      () => {
        const inner = real();
        return over(inner, { answered: (nowMs) => inner.answered(nowMs, inner.limit) });
      },
    ],
  ])('is caught when it %s', (_, mutant) => {
    expect(fc.check(keepsItsWord(mutant), runs).failed).toBe(true);
  });
});
