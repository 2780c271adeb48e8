import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { RetryBudget } from '../../../../src/operators/index.ts';

type Budget = Pick<RetryBudget, 'tryWithdraw' | 'onSuccess' | 'credit'>;

const attemptsOfFailingCalls = (budget: RetryBudget, calls: number): number => {
  let attempts = 0;
  for (let call = 0; call < calls; call++) {
    attempts++;
    for (let retry = 0; retry < 3 && budget.tryWithdraw(); retry++) attempts++;
  }
  return attempts;
};

describe('RetryBudget', () => {
  it('S14: turns 1000 failing calls into 1010 attempts when cold, and 1050 after 1000 successes', () => {
    const cold = new RetryBudget();
    expect(attemptsOfFailingCalls(cold, 1_000)).toBe(1_010);

    const warm = new RetryBudget();
    for (let i = 0; i < 1_000; i++) warm.onSuccess();
    expect(warm.credit).toBe(50);
    expect(attemptsOfFailingCalls(warm, 1_000)).toBe(1_050);
  });

  it('S004-06: four replicas turn 4,000 failing calls into 4,008 attempts, not into 16,000', () => {
    const budgets = Array.from({ length: 4 }, () => new RetryBudget(undefined, () => 4));
    const attempts = budgets.map((budget) => attemptsOfFailingCalls(budget, 1_000));
    // Each has a fourth of the ten that all have together.
    expect(attempts.reduce((sum, one) => sum + one, 0)).toBe(4_008);

    for (const budget of budgets) for (let i = 0; i < 1_000; i++) budget.onSuccess();
    expect(budgets.reduce((sum, { credit }) => sum + credit, 0)).toBe(50);
  });

  it('shares what is left with replicas that come later, and spends what was earned among however many', () => {
    let replicas = 0;
    const budget = new RetryBudget(undefined, () => replicas);
    expect(budget.credit).toBe(10);
    replicas = 100;
    expect(budget.credit).toBe(0.1);
    for (let i = 0; i < 50; i++) budget.onSuccess();
    expect(budget.credit).toBe(1);
  });

  it('pays for a retry after exactly ten successes: tenths do not get lost', () => {
    const budget = new RetryBudget({ start: 0, perSuccess: 0.1, cap: 50 });
    for (let i = 0; i < 9; i++) budget.onSuccess();
    expect(budget.tryWithdraw()).toBe(false);

    budget.onSuccess();
    expect(budget.tryWithdraw()).toBe(true);
    expect(budget.credit).toBe(0);
  });

  it('refuses a negative amount', () => {
    expect(() => new RetryBudget({ start: -1, perSuccess: 0.1, cap: 50 })).toThrow(
      new RangeError('retry.budget.start must be >= 0, got -1'),
    );
  });
});

describe('RetryBudget, invariant 14', () => {
  const options = { start: 10, perSuccess: 0.1, cap: 50 };
  const staysInBudget = (make: () => Budget) =>
    fc.property(fc.array(fc.boolean(), { minLength: 200, maxLength: 1_500, size: 'max' }), (successes) => {
      const budget = make();
      let [retries, earned] = [0, 0];
      return successes.every((success) => {
        if (success) {
          earned++;
          budget.onSuccess();
        } else if (budget.tryWithdraw()) retries++;
        return retries <= options.start + earned / 10 + 1e-9 && budget.credit >= 0 && budget.credit <= options.cap;
      });
    });
  const runs = { numRuns: 200, seed: 14 };

  it('never pays for more than it started with and earned, and never owes', () => {
    fc.assert(
      staysInBudget(() => new RetryBudget(options)),
      runs,
    );
  });

  it.each<[string, () => Budget]>([
    ['earns twice as much', () => new RetryBudget({ ...options, perSuccess: 0.2 })],
    ['starts with more', () => new RetryBudget({ ...options, start: 12 })],
    [
      'pays on credit',
      () => {
        let credit = options.start;
        return {
          get credit() {
            return credit;
          },
          onSuccess: () => void (credit = Math.min(options.cap, credit + options.perSuccess)),
          tryWithdraw: () => (credit -= 1) > -1,
        };
      },
    ],
  ])('is caught when it %s', (_, mutant) => {
    expect(fc.check(staysInBudget(mutant), runs).failed).toBe(true);
  });
});
