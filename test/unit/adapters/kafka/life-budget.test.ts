import { describe, expect, it } from 'vitest';

import { LifeBudget, lifeBudgetDefaults } from '../../../../src/adapters/kafka/life-budget.ts';

const budget = (random: number) => new LifeBudget(lifeBudgetDefaults, { next: () => random });

describe('LifeBudget', () => {
  it('waits longer with each failure in a row: 1, 2, 4 ... at most 30 s, with full jitter', () => {
    const most = budget(1);
    const waits = Array.from({ length: 7 }, (_, n) => most.after('network', 10, n * 40_000));
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    const half = budget(0.5);
    expect(half.after('network', 10, 0)).toBe(500);
    expect(half.after('network', 10, 0)).toBe(1_000);
  });

  it('never waits less than a tenth of its ceiling', () => {
    expect(budget(0).after('network', 10, 0)).toBe(100);
  });

  it('begins anew after a life of a minute', () => {
    const lives = budget(1);
    lives.after('network', 10, 0);
    lives.after('network', 10, 0);
    expect(lives.after('network', 60_000, 0)).toBe(1_000);
  });

  it('K28: never ends because of the network, and waits 30 s more where an administrator must act', () => {
    const lives = budget(1);
    for (let n = 0; n < 100; n++) expect(lives.after('network', 0, n)).toBeGreaterThan(0);
    expect(budget(1).after('denied', 0, 0)).toBe(31_000);
  });

  it('ends with the tenth failure inside ten minutes that time does not mend', () => {
    const lives = budget(1);
    for (let n = 0; n < 9; n++) expect(lives.after('broken', 0, n * 1_000)).toBeDefined();
    expect(lives.after('broken', 0, 10_000)).toBeUndefined();
    const slow = budget(1);
    for (let n = 0; n < 30; n++) expect(slow.after('broken', 0, n * 70_000)).toBeDefined();
  });
});
