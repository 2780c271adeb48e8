import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { decodeDone, encodeDone } from '../../../src/pipeline/commit-metadata.ts';

const done = fc.array(fc.nat({ max: 30_000 }), { minLength: 1, maxLength: 3_000, size: 'max' });

describe('commit metadata', () => {
  it('gives back what it was given, as far as it reaches, in at most 4096 units', () => {
    fc.assert(
      fc.property(fc.nat({ max: 2 ** 45 }), done, (watermark, above) => {
        const text = encodeDone(
          watermark,
          above.map((offset) => watermark + offset),
        );
        expect(text.length).toBeLessThanOrEqual(4_096);
        const reached = above.filter((offset) => offset < 24_000).map((offset) => watermark + offset);
        expect(decodeDone(watermark, text)).toEqual(new Set(reached));
      }),
      { numRuns: 50 },
    );
  });

  it('is empty when nothing is done above the watermark', () => {
    expect(encodeDone(5, [])).toBe('');
    expect(encodeDone(5, [4, 24_005])).toBe('');
    expect(encodeDone(5, [24_004])).not.toBe('');
  });

  it.each([null, '', 'd1', 'd1:5', 'd2:5:/w==', 'd1:6:/w==', 'somebody-else', 'x:5:/w=='])(
    'nothing is taken from %j, which is no metadata of this watermark',
    (metadata) => {
      expect(decodeDone(5, metadata)).toEqual(new Set());
    },
  );

  it('never throws, and never names an offset below the commit, whatever it is given', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.nat(), (garbage, committed) => {
        for (const text of [garbage, `d1:${committed}:${garbage}`]) {
          for (const offset of decodeDone(committed, text)) expect(offset).toBeGreaterThanOrEqual(committed);
        }
      }),
    );
  });
});
