import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { ShapeBook } from '../../../../src/operators/drift/shape-book.ts';

const learned = (body: unknown): ShapeBook => {
  const book = new ShapeBook();
  for (let i = 0; i < 5; i++) expect(book.look('a', body, i)).toEqual([]);
  return book;
};

describe('ShapeBook', () => {
  it('tells once of a field that is something else than it was', () => {
    const book = learned({ data: { user: { name: 'n', mobile: '+86' } } });
    const now = { data: { user: { name: 'n', mobile: { privacy: true, value: '+86' } } } };

    expect(book.look('a', now, 10)).toEqual([{ path: 'data.user.mobile', was: 'string', is: 'object' }]);
    expect(book.look('a', now, 11)).toEqual([]);
    expect(book.look('a', { data: { user: { mobile: '+86' } } }, 12)).toEqual([]);
  });

  it('looks into lists, and takes null, absent and new fields for no change', () => {
    const book = learned({ items: [{ id: 1 }, { id: 2 }], next: 'p' });

    expect(book.look('a', { items: [], next: null, more: true }, 10)).toEqual([]);
    expect(book.look('a', {}, 11)).toEqual([]);
    expect(book.look('a', { items: [{ id: 1 }, { id: 'x' }] }, 12)).toEqual([
      { path: 'items[].id', was: 'number', is: 'string' },
    ]);
  });

  it('never tells of a field that varied from the start, nor of another API', () => {
    const book = new ShapeBook();
    for (let i = 0; i < 40; i++) expect(book.look('a', { value: i % 2 === 0 ? i : 'text' }, i)).toEqual([]);
    for (let i = 0; i < 5; i++) book.look('b', { x: 1 }, i);

    expect(book.look('c', { x: 'text' }, 50)).toEqual([]);
  });

  it('looks closely at first, then once a second', () => {
    const book = new ShapeBook();
    for (let i = 0; i < 50; i++) book.look('a', { x: 1 }, i);

    expect(book.look('a', { x: 'text' }, 500)).toEqual([]);
    expect(book.look('a', { x: 'text' }, 1_049)).toHaveLength(1);
  });

  it('stays bounded whatever comes: many APIs, many fields, depth without end', () => {
    const book = new ShapeBook();
    for (let i = 0; i < 10_000; i++) book.look(`api ${i}`, { [`f${i}`]: 1 }, i);
    let deep: unknown = 1;
    for (let i = 0; i < 5_000; i++) deep = { deep };
    const wide = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`f${i}`, i]));

    expect([book.look('deep', deep, 0), book.look('wide', wide, 0)]).toEqual([[], []]);
    // The first ones are forgotten: learned anew.
    expect(book.look('api 0', { f0: 'text' }, 20_000)).toEqual([]);
  });

  it('takes any JSON, and tells of nothing while a body stays as it is', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (body) => {
        const book = new ShapeBook();
        return Array.from({ length: 20 }, (_, i) => book.look('a', body, i)).every((drifts) => drifts.length === 0);
      }),
      { numRuns: 500, seed: 6 },
    );
  });
});
