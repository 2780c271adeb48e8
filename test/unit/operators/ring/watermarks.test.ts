import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { type WatermarkOptions, watermarkDefaults, Watermarks } from '../../../../src/operators/ring/watermarks.ts';

const small: WatermarkOptions = { highItems: 4, lowItems: 1, highBytes: 100, lowBytes: 20 };

describe('Watermarks', () => {
  it('pauses at 512 items and resumes at 128 unless told otherwise', () => {
    const marks = new Watermarks();
    for (let i = 0; i < 511; i++) marks.add(1);
    expect(marks.paused).toBe(false);
    marks.add(1);
    expect(marks.paused).toBe(true);
    for (let i = 512; i > 129; i--) marks.remove(1);
    expect(marks.paused).toBe(true);
    marks.remove(1);
    expect(marks.paused).toBe(false);
    expect(watermarkDefaults).toMatchObject({ highBytes: 8_388_608, lowBytes: 2_097_152 });
  });

  it('pauses by bytes alone and resumes only when bytes and items are both low', () => {
    const marks = new Watermarks(small);
    marks.add(100);
    expect(marks.paused).toBe(true);
    marks.add(1);
    marks.add(1);
    marks.remove(100);
    expect({ items: marks.items, bytes: marks.bytes, paused: marks.paused }).toEqual({
      items: 2,
      bytes: 2,
      paused: true,
    });
    marks.remove(1);
    expect(marks.paused).toBe(false);
  });

  it.each<[Partial<WatermarkOptions>, RegExp]>([
    [{ highItems: 0 }, /watermarks.highItems/],
    [{ highItems: 2.5 }, /watermarks.highItems/],
    [{ lowItems: 512 }, /watermarks.lowItems/],
    [{ lowItems: -1 }, /watermarks.lowItems/],
    [{ highBytes: 0 }, /watermarks.highBytes/],
    [{ highBytes: Number.NaN }, /watermarks.highBytes/],
    [{ lowBytes: 8_388_608 }, /watermarks.lowBytes/],
  ])('refuses %o', (options, message) => {
    expect(() => new Watermarks(options)).toThrow(message);
  });

  it('is paused exactly when it has been high since it was last low', () => {
    fc.assert(
      followsHistory(() => new Watermarks(small)),
      runs,
    );
  });

  it.each<[string, () => Watermarks]>([
    ['pauses one item late', () => new Watermarks({ ...small, highItems: 5 })],
    ['pauses one byte late', () => new Watermarks({ ...small, highBytes: 101 })],
    ['resumes one item early', () => new Watermarks({ ...small, lowItems: 2 })],
    ['looks at items alone when resuming', () => new Watermarks({ ...small, lowBytes: 99 })],
  ])('is caught when it %s', (_, mutant) => {
    expect(fc.check(followsHistory(mutant), runs).failed).toBe(true);
  });
});

const runs = { numRuns: 1_000, seed: 7 };

/** Invariant 22 against the whole history instead of a flag. */
function followsHistory(make: () => Watermarks) {
  return fc.property(
    fc.array(fc.option(fc.constantFrom(0, 1, 5, 10, 40, 50, 99, 100), { freq: 2 }), {
      minLength: 50,
      maxLength: 300,
      size: 'max',
    }),
    (steps) => {
      const marks = make();
      const queue: number[] = [];
      const history: ('high' | 'low' | 'between')[] = [];
      for (const step of steps) {
        if (step !== null) {
          queue.push(step);
          marks.add(step);
        } else {
          const bytes = queue.shift();
          if (bytes === undefined) continue;
          marks.remove(bytes);
        }
        const bytes = queue.reduce((sum, one) => sum + one, 0);
        const high = queue.length >= small.highItems || bytes >= small.highBytes;
        const low = queue.length <= small.lowItems && bytes <= small.lowBytes;
        history.push(high ? 'high' : low ? 'low' : 'between');
        if (marks.items !== queue.length || marks.bytes !== bytes) return false;
        if (marks.paused !== history.lastIndexOf('high') > history.lastIndexOf('low')) return false;
      }
      return true;
    },
  );
}
