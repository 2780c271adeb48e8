import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  type HealthReading,
  healthRules,
  healthScore,
  hostSickness,
  overallScore,
} from '../../../../src/operators/health/health-score.ts';

const well: HealthReading = {
  ...{ attempts: 100, waiting: 0, failed: 0, refused: 0, slow: 0 },
  ...{ oldestWaitMs: 0, brokenShare: 0, silentMs: 0 },
};
const scoreOf = (reading: Partial<HealthReading>): number => healthScore({ ...well, ...reading }).score;

describe('the health score of an upstream', () => {
  it('is made of weights that are 100 points together', () => {
    const points = Object.values(healthRules).reduce((sum, rule) => sum + rule.points, 0);
    expect(points).toBe(100);
  });

  it.each<readonly [string, Partial<HealthReading>, number]>([
    ['all is well', {}, 100],
    ['nobody called', { attempts: 0 }, 100],
    ['one attempt of a hundred failed', { failed: 1 }, 100],
    ['half of the attempts failed', { failed: 50 }, 70],
    ['one of two attempts failed: that is few', { attempts: 2, failed: 1 }, 88.4],
    ['half of the attempts were slow', { slow: 50 }, 80],
    ['its breaker is open', { brokenShare: 1 }, 80],
    ['a fifth of the attempts was refused', { refused: 20 }, 90],
    ['a call has waited for ten minutes', { oldestWaitMs: 600_000 }, 90],
    ['no good answer for five minutes', { silentMs: 300_000 }, 90],
    ['nothing goes', { failed: 100, slow: 100, refused: 100, brokenShare: 1, oldestWaitMs: 1e9, silentMs: 1e9 }, 0],
  ])('%s: %j is worth %d', (_name, reading, score) => {
    expect(scoreOf(reading)).toBe(score);
  });

  it('says what each part cost', () => {
    const { parts } = healthScore({ ...well, failed: 50, brokenShare: 0.5 });
    expect(parts.filter(({ lost }) => lost > 0)).toEqual([
      { part: 'errors', value: 0.5, lost: 30 },
      { part: 'breaker', value: 0.5, lost: 10 },
    ]);
  });

  const holds = (scored: (reading: HealthReading) => number) => {
    const few = fc.oneof(fc.constant(0), fc.nat(100), fc.nat(10_000));
    const reading = fc.record({
      ...{
        attempts: few,
        failed: few,
        refused: few,
        slow: few,
        waiting: fc.nat(100),
      },
      ...{ oldestWaitMs: fc.nat(1e7), brokenShare: fc.double({ min: 0, max: 1, noNaN: true }), silentMs: fc.nat(1e7) },
    });
    const worse = fc.constantFrom('failed', 'refused', 'slow', 'oldestWaitMs', 'silentMs');
    return fc.property(reading, worse, few, (one, part, more) => {
      const score = scored(one);
      expect(score).toBeGreaterThanOrEqual(0);
      expect(score).toBeLessThanOrEqual(100);
      expect(scored({ ...one, [part]: one[part as 'failed'] + more })).toBeLessThanOrEqual(score);
    });
  };

  it('stays within 0 and 100, and never grows because something got worse', () => {
    fc.assert(holds((reading) => healthScore(reading).score));
  });

  it.each<readonly [string, (reading: HealthReading) => number]>([
    [
      'in which what is refused makes failures rarer',
      (reading) => healthScore({ ...reading, attempts: reading.attempts + reading.refused }).score,
    ],
    [
      'in which each part may cost twice its weight',
      (reading) => healthScore(reading).parts.reduce((left, { lost }) => left - 2 * lost, 100),
    ],
    [
      'that forgets how long nothing was good once something is slow',
      (reading) => healthScore({ ...reading, silentMs: reading.slow > 0 ? 0 : reading.silentMs }).score,
    ],
  ])('the property catches one %s', (_name, scored) => {
    expect(fc.check(holds(scored), { seed: 7, numRuns: 5_000 }).failed).toBe(true);
  });
});

describe('the score of a worker', () => {
  it('is the mean of its upstreams by their traffic', () => {
    const upstreams = [
      { score: 100, asked: 90 },
      { score: 50, asked: 10 },
    ];
    expect(overallScore(upstreams, {})).toBe(95);
    expect(
      overallScore(
        [
          { score: 40, asked: 0 },
          { score: 100, asked: 0 },
        ],
        {},
      ),
    ).toBe(70);
    expect(overallScore([], {})).toBe(100);
  });

  it('loses up to 20 points to a machine that has too much to do', () => {
    const one = [{ score: 100, asked: 1 }];
    expect(overallScore(one, { cpuPressure: 0.3, ioPressure: undefined })).toBe(100);
    expect(overallScore(one, { cpuPressure: 0.95 })).toBe(80);
    expect(overallScore([{ score: 10, asked: 1 }], { cpuPressure: 1 })).toBe(0);
    expect(hostSickness({ cpuPressure: 0.1, memoryPressure: 0.625 })).toBeCloseTo(0.5);
  });
});
