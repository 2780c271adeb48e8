import { expect, it } from 'vitest';

import { resilienceReport } from '../../bench/resilience/resilience.ts';

// Over a minute of load and waits; with fewer calls too few fail at the careful client to compare with.
it('S000-01: of the calls that fail a careful client under 429, 503, timeouts and lost tokens, at most 8 % fail here', async () => {
  const report = await resilienceReport({ calls: 400, rounds: 1, tell: () => undefined });
  const { bare, careful } = report.figures as Record<string, { failed: number; failedIn: object }>;

  expect(report.bars.filter(({ pass }) => !pass)).toEqual([]);
  expect(Object.keys(bare?.failedIn ?? {})).toEqual(expect.arrayContaining(['429', '503', 'timeouts', 'token loss']));
  expect(bare?.failed).toBeGreaterThan(careful?.failed ?? NaN);
}, 180_000);
