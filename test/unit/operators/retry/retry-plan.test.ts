import { describe, expect, it } from 'vitest';

import { retryDefaults, type RetryOptions, RetryPlan, type RetryState } from '../../../../src/operators/index.ts';
import { seededRandom } from '../../../support/virtual-time.ts';

const plan = (options: Partial<RetryOptions> = {}, chance = 0.5): RetryPlan =>
  new RetryPlan({ ...retryDefaults, ...options }, { next: () => chance });
const delays = (options: Partial<RetryOptions>, count: number, chance = 0.5): number[] =>
  Array.from({ length: count }, (_, i) => plan(options, chance).delayMs(i + 1));
const almostOne = 0.999999;
const rich = { tryWithdraw: () => true };
const poor = { tryWithdraw: () => false };
const fresh: RetryState = { attempt: 1, charged: 1, leftMs: Infinity, askedMs: 0, elapsedMs: 0 };

describe('RetryPlan, delays', () => {
  it('S12: waits 100, 200, 400 ... 5000 ms at chance 0.5', () => {
    expect(delays({}, 8)).toEqual([100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
  });

  it('S000-09: waits min(2^i x 0.5, 5) s + U(0, 0.2) s', () => {
    const article = { baseMs: 500, capMs: 5_000, jitter: { additive: 200 } };

    expect(delays(article, 6, 0)).toEqual([500, 1_000, 2_000, 4_000, 5_000, 5_000]);
    expect(delays(article, 6, 0.5)).toEqual([600, 1_100, 2_100, 4_100, 5_100, 5_100]);
    expect(delays(article, 6, almostOne)).toEqual([699, 1_199, 2_199, 4_199, 5_199, 5_199]);
  });

  it('S000-23: a factor U(0.5, 1.5) takes the peak out of 1,000 clients that fail together', () => {
    const largestBin = (jitter: RetryOptions['jitter']): number => {
      const spread = new RetryPlan({ ...retryDefaults, baseMs: 1_000, jitter }, seededRandom(23));
      const bins = new Map<number, number>();
      for (let client = 0; client < 1_000; client++) {
        const bin = Math.floor(spread.delayMs(1) / 100);
        bins.set(bin, (bins.get(bin) ?? 0) + 1);
      }
      return Math.max(...bins.values());
    };

    expect(largestBin({ proportional: 0 })).toBe(1_000);
    expect(largestBin({ proportional: 0.5 })).toBeLessThan(1_000 / 5);
  });

  it('S000-24: with min(2^n x 0.1 s, 30 s) x U(0.5, 1.5) retry 3 waits 0.4 to 1.2 s, retry 9 and later 15 to 45 s', () => {
    // The article counts n from 1, so its first wait is 2 x 0.1 s.
    const article = { baseMs: 200, capMs: 30_000, jitter: { proportional: 0.5 } };
    const range = (n: number) => [plan(article, 0).delayMs(n), plan(article, almostOne).delayMs(n)];

    expect(range(3)).toEqual([400, 1_199]);
    expect(range(9)).toEqual([15_000, 44_999]);
    expect(range(1_000)).toEqual([15_000, 44_999]);
  });

  it('S000-60: from 1000 ms with jitter 0 waits 1, 2 and 4 s, then ends after three retries', () => {
    const three = plan({ baseMs: 1_000, jitter: { proportional: 0 }, maxAttempts: 4 });
    const steps = [1, 2, 3, 4].map((attempt) => three.after({ ...fresh, attempt, charged: attempt }, rich));

    expect(steps).toEqual([
      { do: 'wait', ms: 1_000 },
      { do: 'wait', ms: 2_000 },
      { do: 'wait', ms: 4_000 },
      { do: 'exhausted' },
    ]);
  });

  it.each([
    ['full', 0, 20],
    ['full', almostOne, 399],
    ['equal', 0, 200],
    ['equal', almostOne, 399],
    [{ proportional: 0.3 }, 0, 280],
    [{ proportional: 0.3 }, almostOne, 519],
    [{ additive: 50 }, 0, 400],
    [{ additive: 50 }, almostOne, 449],
  ] as const)('spreads 400 ms by %j at chance %d to %i ms', (jitter, chance, ms) => {
    expect(plan({ jitter }, chance).delayMs(2)).toBe(ms);
  });

  it('stays finite after a thousand attempts and more (Polly #2163, cockatiel #86)', () => {
    expect(delays({}, 2_000).at(-1)).toBe(5_000);
    expect(plan().delayMs(Number.MAX_SAFE_INTEGER)).toBe(5_000);
  });
});

describe('RetryPlan, the ladder', () => {
  it('waits here while there is time, attempts and credit', () => {
    expect(plan().after(fresh, rich)).toEqual({ do: 'wait', ms: 100 });
  });

  it('never waits for less than was asked', () => {
    expect(plan().after({ ...fresh, askedMs: 3_000 }, rich)).toEqual({ do: 'wait', ms: 3_000 });
  });

  it.each([
    [399, 'too-late'],
    [400, 'wait'],
  ])('with %i ms left, a wait of 100 ms and 300 ms of work end as %s', (leftMs, step) => {
    expect(plan().after({ ...fresh, leftMs }, rich).do).toBe(step);
  });

  it('is too late before it is exhausted, and exhausted before it is held', () => {
    const worn = { attempt: 4, charged: 20, leftMs: 10_000, askedMs: 6_000, elapsedMs: 40_000 };

    expect(plan().after({ ...worn, leftMs: 100 }, poor)).toEqual({ do: 'too-late' });
    expect(plan().after(worn, poor)).toEqual({ do: 'exhausted' });
  });

  it('S000-10: with maxAttempts 3 an always failing call is attempted exactly three times', () => {
    const three = plan({ maxAttempts: 3 });
    const steps = [1, 2, 3].map((attempt) => three.after({ ...fresh, attempt, charged: attempt }, rich).do);

    expect(steps).toEqual(['wait', 'wait', 'exhausted']);
  });

  it('holds for a wait above 5 s, exactly as long as that', () => {
    expect(plan().after({ ...fresh, askedMs: 5_000 }, rich).do).toBe('wait');
    expect(plan().after({ ...fresh, askedMs: 5_001 }, rich)).toEqual({ do: 'hold', why: 'long-wait', ms: 5_001 });
  });

  it.each([
    ['attempts', { ...fresh, attempt: 4, charged: 4 }, rich],
    ['time', { ...fresh, elapsedMs: 30_000 }, rich],
    ['budget', fresh, poor],
  ] as const)('holds the record when its %s are used up, for about 10 s', (why, state, budget) => {
    expect(plan().after(state, budget)).toEqual({ do: 'hold', why, ms: 9_000 });
  });

  it('holds longer each time: 10 s, 1 min, 10 min, 1 h, times U(0.8, 1)', () => {
    const held = (holds: number, chance: number) =>
      plan({}, chance).after({ ...fresh, attempt: 4, charged: 4, holds }, rich);
    const ms = (chance: number) => [0, 1, 2, 3, 9].map((holds) => held(holds, chance)).map((s) => 'ms' in s && s.ms);

    expect(ms(0)).toEqual([8_000, 48_000, 480_000, 2_880_000, 2_880_000]);
    expect(ms(almostOne)).toEqual([9_999, 59_999, 599_999, 3_599_999, 3_599_999]);
  });

  it('ends a hold early enough for one last attempt before the deadline', () => {
    const state = { ...fresh, attempt: 4, charged: 4, leftMs: 5_000 };

    expect(plan().after(state, rich)).toEqual({ do: 'hold', why: 'attempts', ms: 4_700 });
  });

  it('takes no credit for a retry that does not take place here', () => {
    let asked = 0;
    const counting = { tryWithdraw: () => (asked++, true) };
    plan().after({ ...fresh, leftMs: 0 }, counting);
    plan().after({ ...fresh, charged: 20 }, counting);
    plan().after({ ...fresh, attempt: 4 }, counting);
    plan().after({ ...fresh, askedMs: 9_000 }, counting);

    expect(asked).toBe(0);
  });

  it('lets a refusal wait free of charge, as long as time allows', () => {
    expect(plan().afterRefusal(4_000, Infinity)).toEqual({ do: 'wait', ms: 4_000 });
    expect(plan().afterRefusal(6_000, Infinity)).toEqual({ do: 'hold', why: 'long-wait', ms: 6_000 });
    expect(plan().afterRefusal(4_000, 4_299)).toEqual({ do: 'too-late' });
  });
});

describe('RetryPlan, options', () => {
  it.each([
    [{ maxAttempts: 0 }, 'retry.maxAttempts must be >= 1, got 0'],
    [{ baseMs: 0 }, 'retry.baseMs must be > 0, got 0'],
    [{ capMs: 100 }, 'retry.capMs must be >= baseMs (200), got 100'],
    [{ floorMs: NaN }, 'retry.floorMs must be in [0, capMs (10000)], got NaN'],
    [{ jitter: { proportional: 2 } }, 'retry.jitter.proportional must be in [0, 1], got 2'],
    [{ jitter: { additive: -1 } }, 'retry.jitter.additive must be >= 0, got -1'],
  ])('refuses %j', (options, message) => {
    expect(() => plan(options)).toThrow(new RangeError(message));
  });
});
