import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { Ring } from '../../../../src/operators/ring/ring.ts';

describe('Ring', () => {
  it.each([
    [1, 1],
    [2, 2],
    [3, 4],
    [1000, 1024],
    [1024, 1024],
    [1025, 2048],
    [2 ** 24, 2 ** 24],
  ])('S000-66: a capacity of %i becomes %i', (asked, given) => {
    expect(new Ring(asked).capacity).toBe(given);
  });

  it.each([0, -1, 1.5, Number.NaN, Infinity, 2 ** 24 + 1])('S000-66: refuses a capacity of %d', (capacity) => {
    expect(() => new Ring(capacity)).toThrow(/ring.capacity/);
  });

  it.each([2 ** 31 - 3, 2 ** 32 - 3, 2 ** 40 + 5])('S000-66: stays FIFO while its sequence passes %d', (first) => {
    const ring = new Ring<number>(4, first);
    const out: (number | undefined)[] = [];
    for (let i = 0; i < 20; i += 2) {
      ring.push(i);
      ring.push(i + 1);
      expect(ring.size).toBe(2);
      out.push(ring.shift(), ring.shift());
    }
    expect(out).toEqual(Array.from({ length: 20 }, (_, i) => i));
  });

  it('S000-65: refuses what does not fit and keeps what it has', () => {
    const ring = new Ring<string>(2);
    expect([ring.push('a'), ring.push('b'), ring.push('c')]).toEqual([true, true, false]);
    expect(ring.peek()).toBe('a');
    expect([ring.shift(), ring.shift(), ring.shift()]).toEqual(['a', 'b', undefined]);
    expect(ring.peek()).toBeUndefined();
  });

  it('forgets everything when cleared and goes on', () => {
    const ring = new Ring<string>(4);
    ring.push('a');
    ring.push('b');
    ring.clear();
    expect(ring.size).toBe(0);
    ring.push('c');
    expect(ring.shift()).toBe('c');
  });

  it('S000-67: keeps to a plain queue: FIFO, a batch is everything available up to the bound', () => {
    fc.assert(
      isQueue((capacity, first) => new Ring(capacity, first)),
      runs,
    );
  });

  it.each<[string, (capacity: number, first: number) => Ring<number>]>([
    [
      'overwrites the oldest when full',
      (capacity, first) =>
        new (class extends Ring<number> {
          override push(item: number): boolean {
            if (this.size === this.capacity) this.shift();
            return super.push(item);
          }
        })(capacity, first),
    ],
    [
      'takes one less than it could',
      (capacity, first) =>
        new (class extends Ring<number> {
          override takeInto(out: number[], max: number): number {
            return super.takeInto(out, Math.min(max, Math.max(1, this.size - 1)));
          }
        })(capacity, first),
    ],
    [
      'takes a batch newest first',
      (capacity, first) =>
        new (class extends Ring<number> {
          override takeInto(out: number[], max: number): number {
            const batch: number[] = [];
            const count = super.takeInto(batch, max);
            out.push(...batch.reverse());
            return count;
          }
        })(capacity, first),
    ],
  ])('is caught when it %s', (_, mutant) => {
    expect(fc.check(isQueue(mutant), runs).failed).toBe(true);
  });
});

const runs = { numRuns: 500, seed: 7 };

type Step = { readonly do: 'push' | 'shift' | 'peek' | 'clear' } | { readonly do: 'take'; readonly max: number };

function isQueue(make: (capacity: number, first: number) => Ring<number>) {
  const plain = fc.constantFrom<Step>({ do: 'push' }, { do: 'push' }, { do: 'push' }, { do: 'shift' }, { do: 'peek' });
  const rare = fc.oneof(
    fc.nat(40).map((max): Step => ({ do: 'take', max })),
    fc.constant<Step>({ do: 'clear' }),
  );
  return fc.property(
    fc.integer({ min: 1, max: 32 }),
    fc.constantFrom(0, 2 ** 31 - 20, 2 ** 32 - 20),
    fc.array(fc.oneof({ weight: 12, arbitrary: plain }, { weight: 1, arbitrary: rare }), {
      minLength: 100,
      size: 'max',
      maxLength: 400,
    }),
    (capacity, first, steps) => {
      const ring = make(capacity, first);
      let model: number[] = [];
      let n = 0;
      for (const step of steps) {
        if (!agrees(step)) return false;
        if (ring.size !== model.length) return false;
      }
      return true;

      function agrees(step: Step): boolean {
        switch (step.do) {
          case 'push': {
            n += 1;
            const fits = model.length < ring.capacity;
            if (fits) model.push(n);
            return ring.push(n) === fits;
          }
          case 'shift':
            return ring.shift() === model.shift();
          case 'peek':
            return ring.peek() === model[0];
          case 'clear':
            ring.clear();
            model = [];
            return true;
          case 'take': {
            const batch = model.splice(0, step.max);
            const out = [-1];
            return ring.takeInto(out, step.max) === batch.length && out.join() === [-1, ...batch].join();
          }
        }
      }
    },
  );
}
