import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { decodeDone, encodeDone } from '../../../src/pipeline/commit-metadata.ts';

const done = fc.array(fc.nat({ max: 30_000 }), { minLength: 1, maxLength: 3_000, size: 'max' });

type Codec = readonly [encode: typeof encodeDone, decode: typeof decodeDone];

/** What is done above the watermark comes back, as far as it reaches, and for this watermark alone. */
const givesBack = ([encode, decode]: Codec) =>
  fc.property(fc.nat({ max: 2 ** 45 }), done, (watermark, above) => {
    const text = encode(
      watermark,
      above.map((offset) => watermark + offset),
    );
    const reached = new Set(above.filter((offset) => offset < 24_000).map((offset) => watermark + offset));
    const back = decode(watermark, text);
    const same = back.size === reached.size && [...back].every((offset) => reached.has(offset));
    return same && text.length <= 4_096 && decode(watermark + 1, text).size === 0;
  });
const runs = { numRuns: 50, seed: 7 };

describe('commit metadata', () => {
  it('gives back what it was given, as far as it reaches, in at most 4096 units', () => {
    fc.assert(givesBack([encodeDone, decodeDone]), runs);
  });

  it.each<[string, Codec]>([
    [
      'is one offset off',
      [
        (watermark, offsets) =>
          encodeDone(
            watermark,
            [...offsets].map((one) => one + 1),
          ),
        decodeDone,
      ],
    ],
    ['forgets the last one', [(watermark, offsets) => encodeDone(watermark, [...offsets].slice(1)), decodeDone]],
    ['names one that is not done', [encodeDone, (at, text) => decodeDone(at, text).add(at + 30_001)]],
    [
      'takes what belongs to another watermark',
      [encodeDone, (_, text) => decodeDone(Number(text?.split(':')[1]), text)],
    ],
    ['writes more than the broker takes', [(at, offsets) => encodeDone(at, offsets).padEnd(4_097, '='), decodeDone]],
  ])('is caught when it %s', (_, mutant) => {
    expect(fc.check(givesBack(mutant), runs).failed).toBe(true);
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
