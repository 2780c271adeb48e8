import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { Priority } from '../../../../src/model/call.ts';
import { FairLanes, type Gate, go } from '../../../../src/operators/lanes/fair-lanes.ts';
import type { Place } from '../../../../src/operators/lanes/lane.ts';
import type { Turn } from '../../../../src/operators/lanes/turn.ts';

interface Item {
  readonly n: number;
  readonly bucket: string;
  readonly place: Place;
  notBeforeMs: number;
}

type Make = (gate: (item: Item, nowMs: number) => Gate) => FairLanes<Item>;

const real: Make = (gate) => new FairLanes<Item>({ capacityItems: 10_000 }, gate);

describe('FairLanes against a plain model', () => {
  it('keeps order per lane, one in turn, loses nothing, and never idles while something may go', () => {
    fc.assert(keepsOrder(real), { numRuns: 400, seed: 7 });
  });

  it.each<[string, Make]>([
    [
      'forgets the lane of an item',
      (gate) =>
        new (class extends FairLanes<Item> {
          override add(item: Item, place: Place): void {
            super.add(item, { ...place, lane: undefined });
          }
        })({ capacityItems: 10_000 }, gate),
    ],
    [
      'sends what goes again to the back of its lane',
      (gate) =>
        new (class extends FairLanes<Item> {
          override next(nowMs: number): Turn<Item> | undefined {
            const turn = super.next(nowMs);
            if (turn === undefined) return undefined;
            const again = (notBeforeMs: number): void => {
              turn.done();
              this.add({ ...turn.item, notBeforeMs }, turn.item.place);
            };
            return { ...turn, again };
          }
        })({ capacityItems: 10_000 }, gate),
    ],
    [
      'loses a wake-up',
      (gate) =>
        new (class extends FairLanes<Item> {
          #wakes = 0;
          override wake(room: string): void {
            if (++this.#wakes % 3 !== 0) super.wake(room);
          }
        })({ capacityItems: 10_000 }, gate),
    ],
    [
      'wakes one millisecond early',
      (gate) =>
        new (class extends FairLanes<Item> {
          override next(nowMs: number): Turn<Item> | undefined {
            return super.next(nowMs + 1);
          }
        })({ capacityItems: 10_000 }, gate),
    ],
    [
      'keeps what an owner had queued when it is dropped',
      (gate) =>
        new (class extends FairLanes<Item> {
          override drop(): Item[] {
            return [];
          }
        })({ capacityItems: 10_000 }, gate),
    ],
    ['does not ask the gate', () => real(() => go)],
  ])('is caught when it %s', (_, mutant) => {
    expect(fc.check(keepsOrder(mutant), { numRuns: 200, seed: 7 }).failed).toBe(true);
  });
});

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('add' as const),
      lane: fc.constantFrom('k1', 'k2', 'k3', 'k4', 'k5', undefined),
      bucket: fc.constantFrom('x', 'y', 'z'),
      owner: fc.nat(1),
      priority: fc.constantFrom<Priority>('interactive', 'normal', 'bulk'),
      tenant: fc.constantFrom('t1', 't2', 't3'),
      cost: fc.integer({ min: 1, max: 5 }),
    }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('next' as const) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('done' as const), i: fc.nat(20) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('again' as const), i: fc.nat(20), ms: fc.integer({ min: -5, max: 40 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.nat(20) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('block' as const),
      bucket: fc.constantFrom('x', 'y', 'z'),
      ms: fc.constantFrom(0, 1, 10, 30, Infinity),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('drop' as const), owner: fc.nat(1) }) },
);

/** Invariants 20 and 21, and that `next` finds whatever the model says may go. */
function keepsOrder(make: Make) {
  return fc.property(fc.array(step, { minLength: 80, maxLength: 400, size: 'max' }), (steps) => {
    const owners = [{}, {}];
    const blockedUntilMs = new Map<string, number>();
    const gate = (item: Item, nowMs: number): Gate => {
      const untilMs = blockedUntilMs.get(item.bucket) ?? 0;
      return untilMs > nowMs ? { kind: 'wait', room: item.bucket, untilMs } : go;
    };
    const lanes = make(gate);
    let queues = new Map<unknown, Item[]>();
    let turns: Turn<Item>[] = [];
    let nowMs = 0;
    const keyOf = (item: Item) => item.place.lane ?? item.n;
    const queued = () => [...queues.values()].reduce((sum, queue) => sum + queue.length, 0);
    const mayGo = () =>
      [...queues.values()].some((queue) => {
        const head = queue[0];
        if (head === undefined || turns.some(({ item }) => item.n === head.n)) return false;
        return head.notBeforeMs <= nowMs && gate(head, nowMs) === go;
      });
    const giveTurn = (): boolean => {
      const expected = mayGo();
      const turn = lanes.next(nowMs);
      if ((turn !== undefined) !== expected) return false;
      if (turn === undefined) return true;
      const { item } = turn;
      const head = queues.get(keyOf(item))?.[0];
      if (head?.n !== item.n || head.notBeforeMs > nowMs || gate(item, nowMs) !== go) return false;
      if (turns.some((other) => keyOf(other.item) === keyOf(item))) return false;
      turns.push(turn);
      return true;
    };
    const end = (turn: Turn<Item>) => {
      turns = turns.filter((other) => other !== turn);
      queues.get(keyOf(turn.item))?.shift();
      turn.done();
    };

    for (const [n, one] of steps.entries()) {
      const turn = 'i' in one ? turns[one.i % Math.max(1, turns.length)] : undefined;
      if (one.do === 'add') {
        const { lane, priority, tenant, cost, bucket } = one;
        const item = { n, bucket, notBeforeMs: 0, place: { lane, owner: owners[one.owner], priority, tenant, cost } };
        queues.set(keyOf(item), [...(queues.get(keyOf(item)) ?? []), item]);
        lanes.add(item, item.place);
      } else if (one.do === 'next' && !giveTurn()) return false;
      else if (one.do === 'done' && turn !== undefined) end(turn);
      else if (one.do === 'again' && turn !== undefined) {
        turns = turns.filter((other) => other !== turn);
        turn.item.notBeforeMs = nowMs + one.ms;
        turn.again(nowMs + one.ms);
      } else if (one.do === 'advance') nowMs += one.ms;
      else if (one.do === 'block') {
        blockedUntilMs.set(one.bucket, nowMs + one.ms);
        lanes.wake(one.bucket);
      } else if (one.do === 'drop') {
        const mine = ({ place }: Item) => place.owner === owners[one.owner];
        const unstarted = [...queues.values()]
          .flat()
          .filter((item) => mine(item) && !turns.some((other) => other.item.n === item.n))
          .map((item) => item.n);
        const forgotten = turns.filter(({ item }) => mine(item));
        turns = turns.filter(({ item }) => !mine(item));
        queues = new Map([...queues].map(([key, queue]) => [key, queue.filter((item) => !mine(item))]));
        const dropped = lanes.drop(owners[one.owner]).map((item) => item.n);
        if (dropped.sort().join() !== unstarted.sort().join()) return false;
        for (const over of forgotten) over.done();
      }
      if (lanes.inTurn !== turns.length || lanes.size + lanes.inTurn !== queued()) return false;
      const { lanes: states } = lanes.stats();
      if (states.idle !== 0 || states.busy !== turns.length) return false;
    }

    blockedUntilMs.clear();
    for (const bucket of ['x', 'y', 'z']) lanes.wake(bucket);
    nowMs += 1_000;
    while (queued() > 0) {
      if (!giveTurn()) return false;
      const [turn] = turns;
      if (turn === undefined) return false;
      end(turn);
    }
    return lanes.size === 0 && lanes.stats().rooms.length === 0 && lanes.nextWakeMs() === undefined;
  });
}
