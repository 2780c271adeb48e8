import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { brakeDefaults, DeadLetterBrake } from '../../../src/pipeline/dead-letter-brake.ts';

const step = fc.tuple(fc.constantFrom('ask', 'ask', 'ask', 'success'), fc.nat({ max: 400 }));
const life = fc.array(step, { minLength: 100, maxLength: 600, size: 'max' });

/** Throws when more was released than burst, time and successes have earned. */
function live(brake: Pick<DeadLetterBrake, 'tryRelease' | 'onSuccess'>, steps: readonly (readonly [string, number])[]) {
  let [nowMs, released, successes] = [0, 0, 0];
  for (const [what, ms] of steps) {
    nowMs += ms;
    if (what === 'success') {
      successes++;
      brake.onSuccess();
    } else if (brake.tryRelease(nowMs)) released++;
    const earned =
      brakeDefaults.burst + (nowMs / 1_000) * brakeDefaults.perSecond + successes * brakeDefaults.perSuccess;
    if (released > earned + 1e-6) throw new Error('released more than was earned');
  }
}

describe('DeadLetterBrake', () => {
  it('releases no more than burst, time and successes have earned', () => {
    fc.assert(fc.property(life, (steps) => live(new DeadLetterBrake(), steps)));
  });

  it('the property catches a brake that earns for refused requests too', () => {
    const leaky = () => {
      const brake = new DeadLetterBrake();
      return {
        onSuccess: () => brake.onSuccess(),
        tryRelease: (nowMs: number) => {
          for (let i = 0; i < 10; i++) brake.onSuccess();
          return brake.tryRelease(nowMs);
        },
      };
    };
    const { failed, errorInstance } = fc.check(fc.property(life, (steps) => live(leaky(), steps)));
    expect([failed, String(errorInstance)]).toEqual([true, expect.stringMatching(/earned/)]);
  });

  it('lets 50 go at once, then one a second', () => {
    const brake = new DeadLetterBrake();
    const release = (nowMs: number) =>
      Array.from({ length: 100 }, () => brake.tryRelease(nowMs)).filter(Boolean).length;
    expect(release(0)).toBe(50);
    expect(release(999)).toBe(0);
    expect(release(1_000)).toBe(1);
    expect(release(500)).toBe(0);
    expect(release(11_000)).toBe(10);
    expect(release(1e9)).toBe(50);
  });

  it('ten successes earn one', () => {
    const brake = new DeadLetterBrake({ burst: 1, perSuccess: 0.1, perSecond: 0 });
    expect(brake.tryRelease(0)).toBe(true);
    for (let i = 0; i < 9; i++) brake.onSuccess();
    expect(brake.tryRelease(0)).toBe(false);
    brake.onSuccess();
    brake.onSuccess();
    expect(brake.tryRelease(0)).toBe(true);
  });
});
