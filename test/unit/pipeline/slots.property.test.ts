import fc from 'fast-check';
import { Observable, ReplaySubject, type Subscriber } from 'rxjs';
import { describe, expect, it } from 'vitest';

import { Slots } from '../../../src/pipeline/slots.ts';
import { collect, type Seen } from '../../support/collect.ts';

type Places = Pick<Slots, 'acquire'> & Partial<Pick<Slots, 'tryAcquire'>>;
interface World {
  readonly a: Places;
  readonly b: Places;
  idle(): boolean;
}

const real = (): World => {
  const parent = new Slots(3);
  const [a, b] = [new Slots(2, parent), new Slots(2, parent)];
  const idle = () => [parent, a, b].every(({ inUse, waiting }) => inUse === 0 && waiting === 0);
  return { a, b, idle };
};

const command = fc.tuple(fc.constantFrom('ask', 'ask', 'try', 'free', 'leave'), fc.boolean(), fc.nat());
const life = fc.array(command, { minLength: 20, maxLength: 120, size: 'max' });
const fail = (error: unknown): void => expect.fail(String(error));

interface Asking {
  readonly side: 'a' | 'b';
  readonly seen: Seen<() => void>;
  left: boolean;
}

function live(make: () => World, commands: typeof life extends fc.Arbitrary<infer C> ? C : never): void {
  const world = make();
  const asking: Asking[] = [];
  const holding: { readonly side: 'a' | 'b'; readonly free: () => void }[] = [];
  const harvest = (): void => {
    for (const side of ['a', 'b'] as const) {
      const row = asking.filter((one) => one.side === side && !one.left);
      const served = row.map(({ seen }) => seen.values.length > 0);
      if (served.includes(true) && served.indexOf(false) !== -1 && served.lastIndexOf(true) > served.indexOf(false)) {
        throw new Error('not first come, first served');
      }
    }
    for (const one of [...asking]) {
      const [free] = one.seen.values;
      if (free === undefined) continue;
      asking.splice(asking.indexOf(one), 1);
      if (one.left) throw new Error('served who had left');
      holding.push({ side: one.side, free });
    }
    const count = (side: string) => holding.filter((one) => one.side === side).length;
    if (count('a') > 2 || count('b') > 2 || holding.length > 3) throw new Error('more than the limit');
  };
  for (const [what, isA, pick] of commands) {
    const side = isA ? 'a' : 'b';
    if (what === 'ask') asking.push({ side, seen: collect(world[side].acquire()), left: false });
    if (what === 'try') {
      const free = world[side].tryAcquire?.();
      if (free !== undefined) holding.push({ side, free });
    }
    if (what === 'free' && holding.length > 0) {
      const [held] = holding.splice(pick % holding.length, 1);
      held?.free();
      held?.free();
    }
    if (what === 'leave' && asking.length > 0) {
      const one = asking[pick % asking.length];
      one?.seen.subscription.unsubscribe();
      if (one !== undefined) one.left = true;
    }
    harvest();
  }
  for (let round = 0; round < 500 && holding.length > 0; round++) {
    holding.shift()?.free();
    harvest();
  }
  if (asking.some(({ left }) => !left)) throw new Error('somebody waits for ever');
  if (!world.idle()) throw new Error('places were lost');
}

describe('Slots', () => {
  it('holds its limits, serves in order, forgets who left and loses no place, alone and under a parent', () => {
    fc.assert(fc.property(life, (commands) => live(real, commands)));
  });

  it.each([
    [
      'does not count its process',
      (): World => {
        const [a, b] = [new Slots(2), new Slots(2)];
        return { a, b, idle: () => a.inUse + b.inUse === 0 };
      },
    ],
    [
      'serves who has left',
      (): World => {
        const world = real();
        // Unsubscribing does not reach the queue: the place is taken by nobody.
        const deaf = (slots: Places): Places => ({
          // eslint-disable-next-line rxjs-x/finnish -- the name is the port's
          acquire() {
            const asked$ = new ReplaySubject<() => void>(1);
            slots.acquire().subscribe({ next: (free) => asked$.next(free), error: fail });
            return asked$;
          },
        });
        return { ...world, a: deaf(world.a) };
      },
    ],
    [
      'gives a place back as often as it is told to',
      (): World => {
        let used = 0;
        const side = (): Places => {
          const waiting: Subscriber<() => void>[] = [];
          let own = 0;
          const serve = (): void => {
            while (own < 2 && used < 3 && waiting.length > 0) {
              own++;
              used++;
              waiting.shift()?.next(() => {
                own--;
                used--;
                serve();
              });
            }
          };
          return {
            // eslint-disable-next-line rxjs-x/finnish -- the name is the port's
            acquire() {
              return new Observable((subscriber) => {
                waiting.push(subscriber);
                serve();
              });
            },
          };
        };
        return { a: side(), b: side(), idle: () => used === 0 };
      },
    ],
  ] as const)('the property catches slots whose code %s', (_what, make) => {
    expect(fc.check(fc.property(life, (commands) => live(make, commands))).failed).toBe(true);
  });

  it('refuses a limit below 1', () => {
    expect(() => new Slots(0)).toThrow(RangeError);
    expect(() => new Slots(1.5)).toThrow(RangeError);
  });
});
