import { describe, expect, it } from 'vitest';

import { avalancheReport } from '../../bench/avalanche/avalanche.ts';
import { backoffReport } from '../../bench/backoff/backoff.ts';
import { isolationReport } from '../../bench/isolation/isolation.ts';

// Seconds of load: what is right or wrong on any machine. How long it takes the benches say, on a machine of their own.
describe('benches of isolation', () => {
  it('S002-03, S002-21, S002-22: news hangs, answers 503 and comes back, its callers triple: all are answered, the others live', async () => {
    const report = await isolationReport({ calls: 200, rounds: 1, tell: () => undefined });
    const values = Object.fromEntries(report.bars.map(({ name, value }) => [name, value]));

    expect(values).toMatchObject({ newsAnswered: 1, lost: 0 });
    // Whether the others feel it is a question of time for the bench; that none of their calls fails is none.
    expect(values['othersSuccess']).toBeGreaterThanOrEqual(0.999);
    expect(values['keptPerCallKb']).toBeLessThanOrEqual(20);
    // More of them hang than there are places.
    expect(values['inFlight.news']).toBe(20);
    // NaN: never within the time that it was given.
    expect(values['recoverySeconds']).not.toBeNaN();
  }, 180_000);

  it('S004-01: one of four becomes slow: nothing is lost, and no load is made of repeats', async () => {
    const report = await avalancheReport({ calls: 1_500, rounds: 1, tell: () => undefined });
    const passes = Object.fromEntries(report.bars.map(({ name, pass }) => [name, pass]));

    expect(passes).toMatchObject({ amplification: true, lost: true });
  }, 180_000);

  it('S000-25, S000-26: fixed, exponential, jitter in this order; jitter saves most refusals, ours has none', async () => {
    const report = await backoffReport({ calls: 0, rounds: 1, tell: () => undefined });

    expect(report.bars.filter(({ pass }) => !pass)).toEqual([]);
  }, 60_000);
});
