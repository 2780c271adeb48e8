import fc from 'fast-check';
import { expect, it } from 'vitest';

import { Wagons } from '../../../../src/operators/limit/wagons.ts';

const most = 3;
const step = fc.record({
  do: fc.constantFrom('lead', 'take', 'take', 'board', 'board', 'depart', 'gone'),
  call: fc.nat(7),
  shape: fc.constantFrom('a', 'a', 'a', 'b'),
});
const steps = fc.array(step, { minLength: 30, maxLength: 120, size: 'max' });

type Step = { readonly do: string; readonly call: number; readonly shape: string };

/** Plays steps as the pipeline would: a call has one place at a time. Whatever departs is checked. */
function play(steps: readonly Step[], wagons: Wagons<number>): void {
  const shapes = new Map<number, string>();
  const leads = new Set<number>();
  const boarded = new Map<number, number>();
  const leaves = (leader: number, crew: readonly number[]): void => {
    expect(crew.length).toBeLessThan(most);
    expect(new Set(crew).size).toBe(crew.length);
    for (const rider of crew) {
      expect(boarded.get(rider)).toBe(leader);
      expect(shapes.get(rider)).toBe(shapes.get(leader));
      shapes.delete(rider);
      boarded.delete(rider);
    }
    expect([...boarded.values()]).not.toContain(leader);
    leads.delete(leader);
    shapes.delete(leader);
  };
  for (const { do: what, call, shape } of steps) {
    if (what === 'lead' && !shapes.has(call)) {
      wagons.lead(call, shape, most);
      shapes.set(call, shape);
      leads.add(call);
    } else if (what === 'take' && !shapes.has(call)) {
      const hadSeat = wagons.hasSeat(shape);
      expect(wagons.take(call, shape)).toBe(hadSeat);
      if (hadSeat) shapes.set(call, shape);
    } else if (what === 'board' && shapes.has(call) && !leads.has(call)) {
      const leader = wagons.board(call);
      if (leader === undefined) shapes.delete(call);
      else boarded.set(call, leader);
    } else if (what === 'depart' && leads.has(call)) leaves(call, wagons.depart(call));
    else if (what === 'gone' && shapes.has(call)) {
      const riders = wagons.gone(call);
      if (leads.has(call)) leaves(call, riders);
      else {
        expect(riders).toEqual([]);
        shapes.delete(call);
        boarded.delete(call);
      }
    }
  }
  for (const call of shapes.keys()) {
    const riders = wagons.gone(call);
    if (leads.has(call)) leaves(call, riders);
  }
  expect(wagons.size).toBe(0);
  expect([wagons.hasSeat('a'), wagons.hasSeat('b')]).toEqual([false, false]);
}

it('who departs is here, of one shape, no more than the seats, and rides once; nobody is left over', () => {
  fc.assert(
    fc.property(steps, (some) => play(some, new Wagons())),
    {
      numRuns: 500,
    },
  );
});

it('(wagons that take in whoever comes, or keep who has left, are found out)', () => {
  class Crammed extends Wagons<number> {
    override lead(leader: number, shape: string): void {
      super.lead(leader, shape, most + 1);
    }
  }
  class Clinging extends Wagons<number> {
    override gone(call: number): number[] {
      return this.complete(call) ? super.gone(call) : [];
    }
  }
  for (const mutant of [Crammed, Clinging])
    expect(() => {
      fc.assert(
        fc.property(steps, (some) => play(some, new mutant())),
        {
          numRuns: 500,
        },
      );
    }).toThrow();
});
