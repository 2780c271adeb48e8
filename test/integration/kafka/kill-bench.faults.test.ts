import { expect, it } from 'vitest';

import { killOn } from '../../bench/kill/kill.ts';
import { describeWithServices } from '../../support/services/provided.ts';

// Few calls; the long form is `npm run bench -- kill`.
describeWithServices('the kill bench', (brokers, redisUrl) => {
  it('K12, L5: after a kill -9 at full load no effect is repeated and what came again is counted, beside a loop that repeats', async () => {
    const report = await killOn({ brokers, redisUrl }, { calls: 4_000, tell: () => undefined });
    expect(report.pass ? '' : JSON.stringify(report, undefined, 1)).toBe('');
    expect(report.figures['replayed']).toEqual({
      fromCommit: expect.any(Number) as number,
      fromClaim: expect.any(Number) as number,
    });
  }, 300_000);
});
