import { describe, expect, it } from 'vitest';

import { callsOf, courseOf, dueIn } from '../../bench/surge/course.ts';
import { surgeReport } from '../../bench/surge/surge.ts';

// Seconds of load: whether calls get lost on the way. How much faster it is, the bench says on a machine of its own.
describe('bench surge', () => {
  it('S004-12, S004-13, S004-31, S004-32: a jump to 2,000 calls a second ends well for all, old and new side by side', async () => {
    const report = await surgeReport({ calls: 6_000, rounds: 1, tell: () => undefined });
    const passes = Object.fromEntries(report.bars.map(({ name, pass }) => [name, pass]));

    expect(passes).toMatchObject({ errors: true, lost: true, amplification: true });
    expect(Object.keys(passes)).toEqual(expect.arrayContaining(['p99Ratio', 'calmAfterSeconds']));
    const sides = [report.figures['control'], report.figures['larkspur']] as Record<string, number>[];
    for (const side of sides) {
      expect(Object.keys(side)).toEqual(expect.arrayContaining(['p99BeforeMs', 'p99DuringMs', 'p99AfterMs', 'rssMb']));
    }
    // Each was offered the load; which of them keeps up with it is a question of the machine.
    for (const side of sides) expect(side['perSecondDuring']).toBeGreaterThan(0);
  }, 90_000);
});

describe('the course of a load that jumps', () => {
  const load = {
    before: { perSecond: 1, ms: 5_000 },
    during: { perSecond: 4, ms: 10_000 },
    after: { perSecond: 1, ms: 5_000 },
  };
  const taken = (tookMs: (atMs: number) => number, good: (atMs: number) => boolean = () => true) => ({
    ended: Array.from({ length: callsOf(load) }, (_, n) => {
      const atMs = n < 5 ? n * 1_000 : n < 45 ? 5_000 + (n - 5) * 250 : 15_000 + (n - 45) * 1_000;
      return { atMs, tookMs: tookMs(atMs), good: good(atMs) };
    }),
    openAtEnd: 0,
    lost: 0,
    tookMs: 20_000,
    rssMb: 1,
  });

  it('knows how many calls are due at any time', () => {
    expect([0, 5_000, 10_000, 15_000, 20_000, 30_000].map((ms) => dueIn(load, ms))).toEqual([0, 5, 25, 45, 50, 50]);
    expect(callsOf(load)).toBe(50);
  });

  it('is calm from the second on after which none is restless, be it by time or by failures', () => {
    const calmAfter = (...args: Parameters<typeof taken>) => courseOf(load, taken(...args), 50, 250).calmAfterSeconds;
    expect(calmAfter(() => 50)).toBe(0);
    expect(calmAfter((atMs) => (atMs === 8_250 ? 251 : 50))).toBe(4);
    expect(
      calmAfter(
        () => 50,
        (atMs) => atMs !== 6_000,
      ),
    ).toBe(2);
    expect(calmAfter((atMs) => (atMs > 14_000 ? 9_999 : 50))).toBeNaN();
  });

  it('tells apart what it was like before, during and after, and counts attempts per call', () => {
    const course = courseOf(
      load,
      taken((atMs) => (atMs < 5_000 ? 10 : atMs < 15_000 ? 20 : 30)),
      75,
      250,
    );
    expect(course).toMatchObject({ p99BeforeMs: 10, p99DuringMs: 20, p99AfterMs: 30, amplification: 1.5, errors: 0 });
  });
});
