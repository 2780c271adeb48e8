import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { retryDefaults as d, RetryPlan, type RetryState, type Step } from '../../../../src/operators/index.ts';

type Decide = (state: RetryState, random: number, credit: boolean) => Step;

const real: Decide = (state, random, credit) =>
  new RetryPlan(d, { next: () => random }).after(state, { tryWithdraw: () => credit });

const anyState = fc.record({
  attempt: fc.integer({ min: 1, max: 2_000 }),
  charged: fc.integer({ min: 0, max: 30 }),
  leftMs: fc.oneof(fc.integer({ min: 0, max: 20_000 }), fc.constant(Infinity)),
  askedMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 15_000 })),
  elapsedMs: fc.integer({ min: 0, max: 60_000 }),
  holds: fc.nat({ max: 10 }),
});
const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

/** 11: bounded attempts; 12: delay and work fit before the deadline; 13: delay in range; what was asked is kept. */
const keepsItsBounds = (decide: Decide) =>
  fc.property(anyState, chance, fc.boolean(), (state, random, credit) => {
    const step = decide(state, random, credit);
    const longest = Math.max(d.capMs, state.askedMs);
    switch (step.do) {
      case 'too-late':
        return state.leftMs < longest + d.minWorkMs;
      case 'exhausted':
        return state.charged >= d.maxAttempts;
      case 'wait':
      case 'hold': {
        if (state.charged >= d.maxAttempts) return false;
        if (step.ms < Math.max(d.floorMs, state.askedMs) || step.ms + d.minWorkMs > state.leftMs) return false;
        if (step.do === 'hold') return true;
        const mayStay = state.attempt < d.attemptsInARow && state.elapsedMs < d.longestVisitMs && credit;
        return mayStay && step.ms <= Math.min(longest, d.longestWaitMs);
      }
    }
  });
const runs = { numRuns: 3_000, seed: 7 };

describe('RetryPlan, invariants 11 to 13', () => {
  it('keeps its bounds for any state, server and chance', () => {
    fc.assert(keepsItsBounds(real), runs);
  });

  it.each<[string, Decide]>([
    ['forgets the deadline', (state, ...rest) => real({ ...state, leftMs: Infinity }, ...rest)],
    ['forgets the server', (state, ...rest) => real({ ...state, askedMs: 0 }, ...rest)],
    ['counts attempts from zero', (state, ...rest) => real({ ...state, attempt: state.attempt - 1 }, ...rest)],
    ['forgets what was charged', (state, ...rest) => real({ ...state, charged: 0 }, ...rest)],
    ['forgets how long it has tried', (state, ...rest) => real({ ...state, elapsedMs: 0 }, ...rest)],
    ['spends credit it does not have', (state, random) => real(state, random, true)],
    [
      'has no floor',
      (state, random, credit) =>
        new RetryPlan({ ...d, floorMs: 0 }, { next: () => random }).after(state, { tryWithdraw: () => credit }),
    ],
    [
      'lets a hold run past the deadline',
      (state, random, credit) => {
        const step = real(state, random, credit);
        return step.do === 'hold' ? { ...step, ms: Math.max(step.ms, 8_000) } : step;
      },
    ],
  ])('is caught when it %s', (_, mutant) => {
    expect(fc.check(keepsItsBounds(mutant), runs).failed).toBe(true);
  });
});
