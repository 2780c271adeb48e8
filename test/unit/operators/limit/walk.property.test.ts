import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { Walk } from '../../../../src/operators/limit/walk.ts';

type Step = readonly ['add' | 'remove', number] | readonly ['next'];

const step = fc.oneof<fc.Arbitrary<Step>[]>(
  fc.tuple(fc.constant('add' as const), fc.nat(20)),
  fc.tuple(fc.constant('remove' as const), fc.nat(20)),
  fc.constant(['next'] as const),
);

const someSteps = fc.array(step, { maxLength: 300, size: 'max' });

/** What holds of a walk, whatever is added and removed meanwhile. */
function holds(steps: readonly Step[], make: (map: Map<number, string>) => Pick<Walk<number, string>, 'next'>): void {
  const map = new Map<number, string>();
  const walk = make(map);
  for (const [what, key] of steps) {
    if (what === 'add') map.set(key, `v${key}`);
    else if (what === 'remove') map.delete(key);
    else {
      const next = walk.next();
      if (next === undefined) expect(map.size).toBe(0);
      else expect(map.get(next[0])).toBe(next[1]);
    }
  }
  // At the end of this round, and in one more, everything that is there has come.
  const left = new Set(map.keys());
  for (let looks = 2 * map.size; looks > 0; looks--) left.delete(walk.next()?.[0] ?? -1);
  expect([...left]).toEqual([]);
}

describe('Walk', () => {
  it('tells only what is there, and all of it within two rounds, whatever is added and removed', () => {
    fc.assert(fc.property(someSteps, (steps) => holds(steps, (map) => new Walk(map))));
  });

  it('kills the mutant that starts each look anew', () => {
    const anew = (map: Map<number, string>) => ({ next: () => new Walk(map).next() });
    expect(() => fc.assert(fc.property(someSteps, (steps) => holds(steps, anew)))).toThrow();
  });

  it('goes on from where it stopped, so that whoever deletes as it goes does not pay for what went before', () => {
    const map = new Map([1, 2, 3, 4].map((key) => [key, 'v']));
    const walk = new Walk(map);
    expect([walk.next(), walk.next()].map((entry) => entry?.[0])).toEqual([1, 2]);
    map.delete(1);
    map.set(5, 'v');
    expect(Array.from({ length: 5 }, () => walk.next()?.[0])).toEqual([3, 4, 5, 2, 3]);
  });
});
