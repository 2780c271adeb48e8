import { describe, expect, it } from 'vitest';

import { planOf } from '../../simulation/make-plan.ts';
import { mutants } from '../../simulation/mutants/all.ts';
import { simulate } from '../../simulation/simulate.ts';

// A simulation that no bug can break proves nothing.
describe('the simulation finds a house that', () => {
  it.each(mutants)('$name', { timeout: 120_000 }, (mutant) => {
    let seed = mutant.from ?? 0;
    while (seed < 1_000 && simulate(planOf(seed), { mutant }).violation === undefined) seed++;
    expect(seed).toBeLessThan(1_000);
  });
});
