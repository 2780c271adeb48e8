import { describe, expect, it } from 'vitest';

import { FairLanes, type Gate, go } from '../../../../src/operators/lanes/fair-lanes.ts';
import type { FairLanesOptions } from '../../../../src/operators/lanes/options.ts';

import { at, serve, take } from './support.ts';

const lanesWith = (gate: (item: string, nowMs: number) => Gate = () => go, options: FairLanesOptions = {}) =>
  new FairLanes<string>(options, gate);

describe('FairLanes: rooms', () => {
  const closed = new Map<string, number>();
  const byName = (item: string): Gate => {
    const untilMs = closed.get(item.charAt(0));
    return untilMs === undefined ? go : { kind: 'wait', room: item.charAt(0), untilMs };
  };

  it('keeps what waits for one bucket out of the way of the others', () => {
    closed.clear();
    closed.set('s', Infinity);
    const lanes = lanesWith(byName);
    for (let i = 0; i < 50; i++) {
      lanes.add(`s${i}`, at(`s${i}`));
      lanes.add(`h${i}`, at(`h${i}`));
    }
    expect(serve(lanes)).toEqual(Array.from({ length: 50 }, (_, i) => `h${i}`));
    expect(lanes.stats()).toMatchObject({
      queued: 50,
      lanes: { waiting: 50, ready: 0 },
      rooms: [{ room: 's', lanes: 50, items: 50, untilMs: Infinity }],
    });
    closed.clear();
    expect(serve(lanes)).toEqual([]);
    lanes.wake('s');
    expect(serve(lanes)).toEqual(Array.from({ length: 50 }, (_, i) => `s${i}`));
    expect(lanes.roomStats('s')).toBeUndefined();
  });

  it('opens a room by itself at the earliest time that a gate has named', () => {
    closed.clear();
    closed.set('s', 300);
    const lanes = lanesWith(byName);
    lanes.add('s1', at('s1'));
    lanes.next(0);
    closed.set('s', 200);
    lanes.add('s2', at('s2'));
    lanes.next(0);
    closed.set('s', 400);
    lanes.add('s3', at('s3'));
    lanes.next(0);
    expect(lanes.nextWakeMs()).toBe(200);
    closed.clear();
    expect(serve(lanes, 199)).toEqual([]);
    expect(serve(lanes, 200)).toEqual(['s1', 's2', 's3']);
    expect(lanes.nextWakeMs()).toBeUndefined();
  });

  it('asks two lanes, not ten thousand, to let one through', () => {
    let asked = 0;
    let free = 0;
    const lanes = lanesWith(
      () => {
        asked++;
        return free-- > 0 ? go : { kind: 'wait', room: 'r', untilMs: Infinity };
      },
      { capacityItems: 10_000 },
    );
    for (let i = 0; i < 10_000; i++) lanes.add(String(i), at(String(i), { tenant: String(i % 500) }));
    expect(lanes.next(0)).toBeUndefined();
    expect(asked).toBe(10_000);
    for (let i = 0; i < 100; i++) {
      asked = 0;
      free = 1;
      lanes.wake('r');
      take(lanes);
      expect(lanes.next(0)).toBeUndefined();
      expect(asked).toBe(2);
    }
  });

  it('moves a lane from one room to another when another bucket refuses it', () => {
    closed.clear();
    let room = 'first';
    const lanes = lanesWith(() => (room === '' ? go : { kind: 'wait', room, untilMs: Infinity }));
    lanes.add('x', at('x'));
    lanes.add('x2', at('x'));
    lanes.next(0);
    expect(lanes.stats()).toMatchObject({ lanes: { waiting: 1 }, rooms: [{ room: 'first', items: 2 }] });
    room = 'second';
    lanes.wake('first');
    lanes.next(0);
    expect(lanes.stats().rooms).toEqual([{ room: 'second', lanes: 1, items: 2, untilMs: Infinity }]);
    room = '';
    lanes.wake('first');
    expect(lanes.next(0)).toBeUndefined();
    lanes.wake('second');
    expect(serve(lanes)).toEqual(['x', 'x2']);
  });

  it('does not spin when a gate names a time that has passed', () => {
    const lanes = lanesWith(() => ({ kind: 'wait', room: 'r', untilMs: 0 }));
    lanes.add('x', at('x'));
    expect(lanes.next(10)).toBeUndefined();
    expect(lanes.nextWakeMs()).toBe(11);
  });
});
