import { describe, expect, it } from 'vitest';

import { FairLanes, type Gate, go } from '../../../../src/operators/lanes/fair-lanes.ts';
import type { FairLanesOptions } from '../../../../src/operators/lanes/options.ts';

import { at, owner, serve, take } from './support.ts';

const lanesWith = (gate: (item: string, nowMs: number) => Gate = () => go, options: FairLanesOptions = {}) =>
  new FairLanes<string>(options, gate);

describe('FairLanes: order', () => {
  it('gives the next item of a lane only after the one before is done', () => {
    const lanes = lanesWith();
    for (const item of ['a1', 'a2', 'b1']) lanes.add(item, at(item.charAt(0)));
    const a1 = take(lanes);
    expect(take(lanes).item).toBe('b1');
    expect(lanes.next(0)).toBeUndefined();
    a1.done();
    expect(take(lanes).item).toBe('a2');
    expect({ size: lanes.size, inTurn: lanes.inTurn }).toEqual({ size: 0, inTurn: 2 });
  });

  it('lets independent items go side by side', () => {
    const lanes = lanesWith();
    for (const item of ['x', 'y', 'z']) lanes.add(item, at(undefined));
    expect([take(lanes).item, take(lanes).item, take(lanes).item]).toEqual(['x', 'y', 'z']);
  });

  it('brings an item that goes again back to the front, not before its time', () => {
    const lanes = lanesWith();
    lanes.add('a1', at('a'));
    lanes.add('a2', at('a'));
    lanes.add('b1', at('b'));
    take(lanes).again(100);
    expect(lanes.nextWakeMs()).toBe(100);
    expect(serve(lanes, 99.2)).toEqual(['b1']);
    expect(serve(lanes, 100)).toEqual(['a1', 'a2']);
    expect(lanes.nextWakeMs()).toBeUndefined();
  });

  it('puts an item with an order where it belongs, however late it comes, and never before one in turn', () => {
    const lanes = lanesWith();
    for (const order of [5, 7, 6, 3]) lanes.add(`a${order}`, at('a', { order }));
    const first = take(lanes);
    for (const order of [1, 4, 7, 9]) lanes.add(`b${order}`, at('a', { order }));
    first.done();
    expect([first.item, ...serve(lanes)]).toEqual(['a3', 'b1', 'b4', 'a5', 'a6', 'a7', 'b7', 'b9']);
    expect(lanes.size).toBe(0);
  });

  it('lets an item that comes before a sleeping one go at once, and the sleeper right after it', () => {
    const lanes = lanesWith();
    lanes.add('a2', at('a', { order: 2 }));
    take(lanes).again(1_000);
    lanes.add('a1', at('a', { order: 1 }));
    expect(lanes.nextWakeMs()).toBeUndefined();
    expect(serve(lanes, 5)).toEqual(['a1', 'a2']);
  });

  it('asks anew for an item that comes before one in a waiting room', () => {
    const lanes = lanesWith((item) => (item === 'a2' ? { kind: 'wait', room: 'r', untilMs: Infinity } : go));
    lanes.add('a2', at('a', { order: 2, tenant: 'other', priority: 'bulk' }));
    expect(serve(lanes)).toEqual([]);
    lanes.add('a1', at('a', { order: 1 }));
    expect(lanes.roomStats('r')).toBeUndefined();
    expect(serve(lanes)).toEqual(['a1']);
    expect(lanes.roomStats('r')).toMatchObject({ lanes: 1, items: 1 });
  });

  it('lets one that waits for another go behind it when that one came while it was in turn', () => {
    const lanes = lanesWith();
    lanes.add('a5', at('a', { order: 5 }));
    const a5 = take(lanes);
    lanes.add('a3', at('a', { order: 3 }));
    lanes.add('a7', at('a', { order: 7 }));
    a5.again(1_000, false, true);
    expect(serve(lanes, 5)).toEqual(['a3', 'a5', 'a7']);
    lanes.add('b5', at('b', { order: 5 }));
    const b5 = take(lanes);
    lanes.add('b7', at('b', { order: 7 }));
    b5.again(1_000, false, true);
    expect(serve(lanes, 5)).toEqual([]);
    expect(serve(lanes, 1_000)).toEqual(['b5', 'b7']);
    expect({ size: lanes.size, inTurn: lanes.inTurn }).toEqual({ size: 0, inTurn: 0 });
  });

  it('takes an item out of a lane of its own into another, where it waits by its order', () => {
    const lanes = lanesWith();
    lanes.add('a2', at('a', { order: 2 }));
    lanes.add('a4', at('a', { order: 4 }));
    lanes.add('a3', at(undefined, { order: 3, tenant: 'other' }));
    lanes.add('a1', at(undefined, { order: 1, tenant: 'other' }));
    const a2 = take(lanes);
    const [a3, a1] = [take(lanes), take(lanes)];
    expect([a2.item, a3.item, a1.item]).toEqual(['a2', 'a3', 'a1']);
    for (const turn of [a3, a1]) turn.join(at('a', { order: Number(turn.item.slice(1)) }));
    expect({ size: lanes.size, inTurn: lanes.inTurn }).toEqual({ size: 3, inTurn: 1 });
    expect(lanes.next(0)).toBeUndefined();
    a1.join(at('b'));
    a2.done();
    expect(serve(lanes)).toEqual(['a1', 'a3', 'a4']);
    expect({ size: lanes.size, inTurn: lanes.inTurn }).toEqual({ size: 0, inTurn: 0 });
  });

  it('offers at once what goes again with a time that has passed', () => {
    const lanes = lanesWith();
    lanes.add('a1', at('a'));
    take(lanes, 50).again(0);
    expect(serve(lanes, 50)).toEqual(['a1']);
  });

  it('ignores a second end of a turn', () => {
    const lanes = lanesWith();
    for (const item of ['a1', 'a2', 'a3']) lanes.add(item, at('a'));
    const a1 = take(lanes);
    a1.done();
    const a2 = take(lanes);
    a1.done();
    a1.again(0);
    expect(lanes.next(0)).toBeUndefined();
    a2.done();
    expect(serve(lanes)).toEqual(['a3']);
    expect(lanes.inTurn).toBe(0);
  });
});

describe('FairLanes: owners and bounds', () => {
  it('returns what a dropped owner had not started and forgets its turns', () => {
    const other = { partition: 1 };
    const lanes = lanesWith((item) => (item.startsWith('w') ? { kind: 'wait', room: 'r', untilMs: 99 } : go));
    lanes.add('a1', at('a'));
    lanes.add('a2', at('a', { owner: other }));
    lanes.add('a3', at('a'));
    lanes.add('w1', at('w'));
    lanes.add('w2', at('w', { owner: other }));
    lanes.add('s1', at('s'));
    const a1 = take(lanes);
    take(lanes).again(50);
    lanes.next(0);
    expect(lanes.drop(owner).sort()).toEqual(['a3', 's1', 'w1']);
    expect({ size: lanes.size, inTurn: lanes.inTurn }).toEqual({ size: 2, inTurn: 0 });
    a1.done();
    a1.again(0);
    expect(take(lanes).item).toBe('a2');
    expect(lanes.next(0)).toBeUndefined();
    expect(lanes.stats().rooms).toEqual([{ room: 'r', lanes: 1, items: 1, untilMs: 99 }]);
  });

  it('has no more room than its capacity, turns included', () => {
    const lanes = lanesWith(() => go, { capacityItems: 2, laneCapacityItems: 1 });
    lanes.add('a', at('a'));
    expect([lanes.laneHasRoom('a'), lanes.laneHasRoom('b'), lanes.laneHasRoom(undefined)]).toEqual([false, true, true]);
    expect(() => {
      lanes.add('a', at('a'));
    }).toThrow(expect.objectContaining({ code: 'internal' }) as Error);
    lanes.add('b', at('b'));
    const turn = take(lanes);
    expect(lanes.hasRoom).toBe(false);
    expect(() => {
      lanes.add('c', at('c'));
    }).toThrow(expect.objectContaining({ code: 'internal' }) as Error);
    turn.done();
    expect(lanes.room).toBe(1);
  });

  it('deletes empty lanes, flows and rooms', () => {
    const lanes = lanesWith();
    for (let i = 0; i < 1_000; i++) {
      lanes.add('x', at(`x${i}`, { tenant: String(i) }));
      serve(lanes);
    }
    expect(lanes.stats()).toEqual({
      queued: 0,
      inTurn: 0,
      lanes: { idle: 0, ready: 0, busy: 0, asleep: 0, waiting: 0 },
      rooms: [],
    });
  });

  it.each([0, 0.5, 1_001, Number.NaN])('refuses a cost of %d', (cost) => {
    expect(() => {
      lanesWith().add('x', at('x', { cost }));
    }).toThrow(/lanes.cost/);
  });

  it.each<[FairLanesOptions, RegExp]>([
    [{ capacityItems: 0 }, /lanes.capacityItems/],
    [{ laneCapacityItems: 0 }, /lanes.laneCapacityItems/],
    [{ weights: { interactive: 8, normal: 0, bulk: 1 } }, /lanes.weights.normal/],
  ])('refuses %o', (options, message) => {
    expect(() => lanesWith(() => go, options)).toThrow(message);
  });
});
