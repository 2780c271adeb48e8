import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { FairLanes, go } from '../../../../src/operators/lanes/fair-lanes.ts';
import type { Place } from '../../../../src/operators/lanes/lane.ts';

interface Item {
  readonly place: Place;
}

describe('FairLanes: deficit round robin', () => {
  it('serves two backlogged tenants costs that differ by at most the quantum and the largest cost', () => {
    fc.assert(
      isFair((item) => item.place),
      { numRuns: 300, seed: 7 },
    );
  });

  it.each<[string, (item: Item) => Place]>([
    ['takes all for one tenant', (item) => ({ ...item.place, tenant: 'same' })],
    ['takes every item for one unit', (item) => ({ ...item.place, cost: 1 })],
  ])('is caught when it %s', (_, place) => {
    expect(fc.check(isFair(place), { numRuns: 300, seed: 7 }).failed).toBe(true);
  });
});

/** Invariant 23, at every step while both have work; with a third tenant that comes and goes. */
function isFair(placeOf: (item: Item) => Place) {
  const maxCost = 7;
  const cost = fc.integer({ min: 1, max: maxCost });
  const costs = fc.array(cost, { minLength: 60, maxLength: 200, size: 'max' });
  return fc.property(
    costs,
    costs,
    fc.array(fc.boolean(), { minLength: 50, size: 'max', maxLength: 100 }),
    (a, b, visits) => {
      const lanes = new FairLanes<Item>({}, () => go);
      const add = (tenant: string, itemCost: number): void => {
        const place: Place = { lane: undefined, owner: 0, priority: 'normal', tenant, cost: itemCost };
        const item = { place };
        lanes.add(item, placeOf(item));
      };
      for (const one of a) add('A', one);
      for (const one of b) add('B', one);
      const served = { A: 0, B: 0, count: { A: 0, B: 0 } };
      for (let i = 0; served.count.A < a.length && served.count.B < b.length; i++) {
        if (visits[i % visits.length] === true) add('C', 1);
        const turn = lanes.next(0);
        if (turn === undefined) return false;
        turn.done();
        const { tenant, cost: paid } = turn.item.place;
        if (tenant !== 'A' && tenant !== 'B') continue;
        served[tenant] += paid;
        served.count[tenant] += 1;
        if (Math.abs(served.A - served.B) > 1 + maxCost) return false;
      }
      return true;
    },
  );
}
