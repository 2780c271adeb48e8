import fc from 'fast-check';
import { expect, it } from 'vitest';

import { type ClaimStoreBench, ending, request } from '../support/claims/claim-bench.ts';
import { only } from '../support/only.ts';

/** Pieces that a store may use between texts, and such as take more bytes than characters. */
const piece = fc.oneof(
  fc.constantFrom(
    ' ',
    '\n',
    '\r\n',
    '\0',
    '\t',
    ' 1 1 ',
    'c ',
    '%',
    '()',
    '$',
    '飞书',
    '🚀',
    'e\u0301',
    '\u00a0',
    '\ud83d',
    '\ude80',
  ),
  fc.string({ unit: 'binary', size: 'max', maxLength: 20 }),
);
const text = fc.array(piece, { size: 'max', maxLength: 12 }).map((pieces) => pieces.join(''));
const triple = fc.record({ id: text, origin: text, result: text });
const shuffled = 'a \n\0"飞🚀\r\n';
const long = shuffled.repeat(Math.ceil((64 * 1024) / shuffled.length));
const triples = fc.array(triple, { minLength: 1, maxLength: 40, size: 'max' });

/** The part of the claim store's contract about the texts that it is given. */
export function claimStoreTexts(bench: () => ClaimStoreBench, runs: number): void {
  it('gives origins and results back as they came, whatever is in them and in the ids', async () => {
    let run = 0;
    const property = fc.asyncProperty(triples, async (texts) => {
      run++;
      const calls = texts.map(({ id, ...rest }, n) => ({ id: `${run}/${n}/${id}`, ...rest }));
      const { store } = bench();
      const ask = (origin?: string) =>
        Promise.all(calls.map((call) => only(store.claim(request({ id: call.id, origin: origin ?? call.origin })))));
      expect((await ask()).every(({ kind }) => kind === 'granted')).toBe(true);
      const ends = calls.map(({ id, result }, n) =>
        only(store.finish(ending(1, { claim: { id, fence: 1 }, state: n % 2 === 0 ? 'PROCESSED' : 'DEAD', result }))),
      );
      expect((await Promise.all(ends)).every(Boolean)).toBe(true);
      const known = (await ask(' ')).map((reply) =>
        'result' in reply ? { origin: wellFormed(reply.origin), result: wellFormed(reply.result) } : reply,
      );
      expect(known).toEqual(
        calls.map(({ origin, result }) => ({ origin: wellFormed(origin), result: wellFormed(result) })),
      );
    });
    const examples: [{ id: string; origin: string; result: string }[]][] = [
      [
        [
          { id: '', origin: '', result: '' },
          { id: ' ', origin: ' ', result: long },
        ],
      ],
    ];
    await fc.assert(property, { numRuns: runs, seed: 20_260_101, examples });
  });
}

/** Half a surrogate pair is no character: a store may keep it, or the sign for that. */
function wellFormed(value: string): string {
  return Buffer.from(value).toString();
}
