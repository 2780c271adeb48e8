import { expect, it } from 'vitest';

import { claimsOn } from '../../bench/claims.ts';
import { describeWithRedis } from '../../support/services/provided.ts';

// The bar itself is held by `npm run bench -- claims`, on a machine of its own.
describeWithRedis('claims at speed', (url) => {
  it('S000-72: pairs of claim and finish go through one Redis by the thousand, none of them refused', async () => {
    const report = await claimsOn(url, { calls: 5_000, rounds: 1, tell: () => undefined });
    const [rate, refused] = report.bars;
    expect(refused).toMatchObject({ name: 'refused', value: 0, pass: true });
    expect(rate).toMatchObject({ name: 'pairsPerSecond', atLeast: 10_000 });
    expect(rate?.value).toBeGreaterThan(500);
  });
});
