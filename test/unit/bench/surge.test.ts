import { describe, expect, it } from 'vitest';

import { surgeReport } from '../../bench/surge/surge.ts';

// A second of load: whether calls get lost on the way. How much faster it is, the bench says on a machine of its own.
describe('bench surge', () => {
  it('S004-12, S004-13, S004-31: 2,000 calls a second all end well, with the figures of old and new side by side', async () => {
    const report = await surgeReport({ calls: 2_000, rounds: 1, tell: () => undefined });
    const passes = Object.fromEntries(report.bars.map(({ name, pass }) => [name, pass]));

    expect(passes).toMatchObject({ errors: true, amplification: true });
    expect(Object.keys(passes)).toContain('p99Ratio');
    const sides = [report.figures['control'], report.figures['larkspur']] as Record<string, unknown>[];
    const figures = ['amplification', 'errors', 'openAtEnd', 'p50Ms', 'p99Ms', 'perSecond', 'rssMb'];
    expect(sides.map((side) => Object.keys(side).sort())).toEqual([figures, figures]);
    expect(sides.flatMap((side) => Object.values(side)).every(Number.isFinite)).toBe(true);
  }, 60_000);
});
