import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { type Drift, type JsonType, ShapeBook } from '../../../../src/operators/drift/shape-book.ts';

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
    const lists = [
      [1, 1, 1],
      [1, 1, 'text'],
    ];
    expect(book.look('lists', lists, 0)).toEqual([]);

    expect(book.look('c', { x: 'text' }, 50)).toEqual([]);
  });

  it('looks closely at first, then once a second', () => {
    const book = new ShapeBook();
    for (let i = 0; i < 50; i++) book.look('a', { x: 1 }, i);

    expect(book.look('a', { x: 'text' }, 500)).toEqual([]);
    expect(book.look('a', { x: 'text' }, 1_049)).toHaveLength(1);
  });

  it('forgets the API that was not looked at for the longest once there are more than 2,000, and no other', () => {
    const book = new ShapeBook();
    for (const api of ['first', 'second']) for (let i = 0; i < 5; i++) book.look(api, { x: 1 }, i);
    for (let n = 0; n < 1_999; n++) book.look(`api ${n}`, { x: 1 }, 5);

    expect(book.look('second', { x: 'text' }, 10)).toEqual([{ path: 'x', was: 'number', is: 'string' }]);
    expect(book.look('first', { x: 'text' }, 10)).toEqual([]);
  });

  it('learns 300 fields of an API, and takes the others as they come', () => {
    const flat = (value: unknown) => Object.fromEntries(Array.from({ length: 400 }, (_, n) => [`f${n}`, value]));
    const told = learned(flat(1)).look('a', flat('text'), 10);

    expect(told.map(({ path }) => path)).toEqual(Array.from({ length: 300 }, (_, n) => `f${n}`));
  });

  it('looks eight levels deep, however deep a body is', () => {
    const nested = (levels: number, inner: unknown) =>
      Array.from({ length: levels }).reduce<unknown>((body) => ({ d: body }), inner);
    const path = Array.from({ length: 8 }, () => 'd').join('.');

    expect(learned(nested(8, 1)).look('a', nested(8, 'text'), 10)).toEqual([{ path, was: 'number', is: 'string' }]);
    expect(learned(nested(9, 1)).look('a', nested(9, 'text'), 10)).toEqual([]);
    expect(learned(nested(5_000, 1)).look('a', nested(5_000, 'text'), 10)).toEqual([]);
  });
});

type Looks = Pick<ShapeBook, 'look'>;

const runs = { numRuns: 500, seed: 6 };
const leaf = fc.constantFrom<unknown>(1, 'text', true, null, {});
// Fields are what they are by chance in any JSON; lists in lists give one field many values.
const body = fc.oneof(
  fc.jsonValue({ maxDepth: 6 }),
  fc.array(fc.array(leaf, { maxLength: 6, size: 'max' }), { maxLength: 6, size: 'max' }),
);
const staysSilent = (open: () => Looks) =>
  fc.property(body, (same) => {
    const book = open();
    return Array.from({ length: 20 }, (_, i) => book.look('a', same, i)).every((drifts) => drifts.length === 0);
  });

/** Learns after so many values of a field, in one body or in many. */
class CountsValues implements Looks {
  readonly #known = new Map<string, { was: JsonType; times: number }>();
  readonly #after: number;

  constructor(after: number) {
    this.#after = after;
  }

  look(_: string, value: unknown): Drift[] {
    const drifts: Drift[] = [];
    const walk = (at: string, inner: unknown): void => {
      const is = Array.isArray(inner) ? 'array' : (typeof inner as JsonType);
      const known = this.#known.get(at) ?? { was: is, times: 0 };
      this.#known.set(at, known);
      if (known.was === is) known.times++;
      else if (inner !== null && known.times >= this.#after) drifts.push({ path: at, was: known.was, is });
      for (const [name, next] of Object.entries(inner ?? {})) walk(`${at}.${is === 'array' ? '' : name}`, next);
    };
    walk('', value);
    return drifts;
  }
}

describe('a book of shapes', () => {
  it('takes any JSON, and tells of nothing while a body stays as it is', () => {
    fc.assert(
      staysSilent(() => new ShapeBook()),
      runs,
    );
  });

  it.each<[string, () => Looks]>([
    ['believes the first value', () => new CountsValues(1)],
    ['takes five values in one body for five bodies', () => new CountsValues(5)],
  ])('is caught when it %s', (_, open) => {
    expect(fc.check(staysSilent(open), runs).failed).toBe(true);
  });
});
