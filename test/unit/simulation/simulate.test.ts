import { describe, expect, it } from 'vitest';

import { planOf } from '../../simulation/make-plan.ts';
import { mutants } from '../../simulation/mutants/all.ts';
import { shrink } from '../../simulation/shrink.ts';
import { simulate } from '../../simulation/simulate.ts';

describe('simulation', () => {
  it('300 worlds keep every promise', { timeout: 120_000 }, () => {
    const broken = [];
    let calls = 0;
    for (let seed = 0; seed < 300; seed++) {
      const outcome = simulate(planOf(seed));
      calls += outcome.calls;
      if (outcome.violation !== undefined) broken.push({ seed, ...outcome.violation });
    }
    expect(broken).toEqual([]);
    expect(calls).toBeGreaterThan(15_000);
  });

  it('the same seed gives the same run, event by event, and another seed another one', () => {
    const first = simulate(planOf(17), { keepLines: true });
    const second = simulate(planOf(17), { keepLines: true });
    expect(second.hash).toBe(first.hash);
    expect(second.lines).toEqual(first.lines);
    expect(first.events).toBeGreaterThan(100);
    expect(simulate(planOf(18)).hash).not.toBe(first.hash);
  });

  it('a failing world is made smaller, still fails, and replays exactly', { timeout: 60_000 }, () => {
    const mutant = mutants.find(({ name }) => name.startsWith('takes a call over'));
    const seed = Array.from({ length: 1_000 }, (_, n) => n).find(
      (n) => simulate(planOf(n), { mutant }).violation !== undefined,
    );
    const plan = planOf(seed ?? 0);
    const small = shrink(plan, mutant).plan;
    const outcome = simulate(small, { mutant, keepLines: true });
    expect(outcome.violation?.guarantee).toBe(simulate(plan, { mutant }).violation?.guarantee);
    expect(small.calls.length).toBeLessThanOrEqual(3);
    expect(small.faults.length).toBeLessThanOrEqual(plan.faults.length);
    expect(simulate(small, { mutant }).hash).toBe(outcome.hash);
  });
});
