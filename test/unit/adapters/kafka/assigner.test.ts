import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { type Candidate, placePartitions } from '../../../../src/adapters/kafka/assigner.ts';

type Place = typeof placePartitions;

const sizes = (placed: ReadonlyMap<string, readonly number[]>) => [...placed.values()].map((mine) => mine.length);

/** Every number once, loads differ by one at most, and nothing moves that balance does not force. */
const isFairAndCalm = (place: Place) =>
  fc.property(
    fc.integer({ min: 0, max: 60 }),
    fc.integer({ min: 1, max: 12 }),
    fc.integer({ min: 0, max: 6 }),
    fc.integer({ min: 0, max: 6 }),
    (count, members, leaving, joining) => {
      const before = place(count, candidates(names(0, members), new Map()));
      const stay = names(Math.min(leaving, members - 1), members);
      const now = [...stay, ...names(members, members + joining)];
      const after = place(count, candidates(now, before));
      const all = [...after.values()].flat().sort((a, b) => a - b);
      const everyOnce = all.length === count && all.every((number, index) => number === index);
      const balanced = Math.max(...sizes(after)) - Math.min(...sizes(after)) <= 1;
      // Whoever stays gives away only what is above the new fair share.
      const ceiling = Math.ceil(count / now.length);
      const calm = stay.every((id) => {
        const had = before.get(id) ?? [];
        const kept = had.filter((number) => after.get(id)?.includes(number));
        return kept.length >= Math.min(had.length, Math.floor(count / now.length)) && kept.length <= ceiling;
      });
      return everyOnce && balanced && calm;
    },
  );

const names = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, index) => `m${String(from + index).padStart(3, '0')}`);
const candidates = (ids: readonly string[], held: ReadonlyMap<string, number[]>): Candidate[] =>
  ids.map((id) => ({ id, held: held.get(id) ?? [] }));
const runs = { numRuns: 2_000, seed: 11 };

describe('placePartitions', () => {
  it('is fair, complete and calm, whoever joins or leaves', () => {
    fc.assert(isFairAndCalm(placePartitions), runs);
  });

  it.each<[string, Place]>([
    [
      'forgets what members had',
      (count, all) => placePartitions(count, all.map(({ id }) => ({ id, held: [] })).reverse()),
    ],
    ['leaves the last number out', (count, all) => placePartitions(Math.max(0, count - 1), all)],
    [
      'lets everybody keep all',
      (count, all) => new Map(all.map(({ id, held }, i) => [id, held.length > 0 || i > 0 ? [...held] : range(count)])),
    ],
  ])('a placement is caught that %s', (_, mutant) => {
    expect(fc.check(isFairAndCalm(mutant), runs).failed).toBe(true);
  });

  it('gives the same answer whatever order the members are named in', () => {
    const all = candidates(['b', 'a', 'c'], new Map([['c', [0, 1, 2, 3]]]));
    expect(placePartitions(7, all)).toEqual(placePartitions(7, [...all].reverse()));
  });

  it('gives a number that two members claim to one of them', () => {
    const placed = placePartitions(4, [
      { id: 'a', held: [0, 1] },
      { id: 'b', held: [1, 2] },
    ]);
    expect([...placed.values()].flat().sort()).toEqual([0, 1, 2, 3]);
    expect(placed.get('a')).toEqual([0, 1]);
  });
});

function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}
