import { describe, expect, it } from 'vitest';

import { faultsAtUpstream } from '../../chaos/scenarios/faults.ts';

describe('chaos faults', () => {
  it('S000-73: time-out, 503 and 429 each keep every invariant, and each is printed as a bar', async () => {
    const report = await faultsAtUpstream({
      calls: 40,
      keys: 0,
      records: 0,
      hangSeconds: 0,
      events: 0,
      outageSeconds: 0,
      services: { brokers: undefined, redisUrl: undefined },
      minutes: 1,
      seed: 1,
      say: () => undefined,
      tell: () => undefined,
    });

    expect(report.bars.filter(({ pass }) => !pass)).toEqual([]);
    for (const fault of ['timeout', 'unavailable', 'refusal']) {
      const names = ['lost', 'twice', 'outOfOrder', 'deadLetters', 'faults'].map((name) => `${fault}.${name}`);
      expect(report.bars.map(({ name }) => name)).toEqual(expect.arrayContaining(names));
    }
  }, 60_000);
});
