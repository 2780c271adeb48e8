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
    const given = new Set(above.map((offset) => watermark + offset));
    const back = decode(watermark, text);
    const reached = [...given].filter((offset) => offset < watermark + 24_000);
    const same = [...back].every((offset) => given.has(offset)) && back.size >= reached.length;
    return same && text.length <= 4_096 && decode(watermark + 1, text).size === 0;
  });
const runs = { numRuns: 50, seed: 7 };

/** Long runs with short gaps: what is left where full lanes sent most of their records away. */
const stretches = fc.array(fc.tuple(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 20_000 })), {
  minLength: 1,
  maxLength: 200,
});

const givesRunsBack = ([encode, decode]: Codec) =>
  fc.property(fc.nat({ max: 2 ** 45 }), stretches, (watermark, lengths) => {
    const above: number[] = [];
    let at = watermark;
    for (const [gap, run] of lengths) {
      at += gap;
      for (let n = 0; n < run && above.length < 131_072; n++) above.push(at++);
    }
    const text = encode(watermark, above);
    const back = [...decode(watermark, text)];
    return text.length <= 4_096 && back.length === above.length && back.every((offset, n) => offset === above[n]);
  });

describe('commit metadata', () => {
  it('gives back what it was given, as far as it reaches, in at most 4096 units', () => {
    fc.assert(givesBack([encodeDone, decodeDone]), runs);
  });

  it('gives back 131,072 offsets and more that stand in runs', () => {
    fc.assert(givesRunsBack([encodeDone, decodeDone]), runs);
    const bitmapAlone: Codec = [(at, offsets) => encodeDone(at, [...offsets].slice(0, 24_000)), decodeDone];
    expect(fc.check(givesRunsBack(bitmapAlone), runs).failed).toBe(true);
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
    expect(encodeDone(5, [4])).toBe('');
    expect(encodeDone(5, [4, 24_004])).toMatch(/^d1:/);
    expect(encodeDone(5, [4, 24_005])).toMatch(/^d2:/);
  });

  it.each([null, '', 'd1', 'd1:5', 'd2:5:/w==', 'd1:6:/w==', 'somebody-else', 'x:5:/w=='])(
    'nothing is taken from %j, which is no metadata of this watermark',
    (metadata) => {
      expect(decodeDone(5, metadata)).toEqual(new Set());
    },
  );

  it('reads no more than there can be from runs that somebody else has written', () => {
    const endless = Buffer.from([0, ...Array<number>(7).fill(0xff), 0x7f]).toString('base64');
    expect(decodeDone(5, `d2:5:${endless}`)).toEqual(new Set());
  });

  it('never throws, and never names an offset below the commit, whatever it is given', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.nat(), (garbage, committed) => {
        for (const text of [garbage, `d1:${committed}:${garbage}`, `d2:${committed}:${garbage}`]) {
          for (const offset of decodeDone(committed, text)) expect(offset).toBeGreaterThanOrEqual(committed);
        }
      }),
    );
  });
});
