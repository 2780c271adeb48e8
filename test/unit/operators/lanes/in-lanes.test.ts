import { NEVER, of, range, Subject, tap, throwError } from 'rxjs';
import { describe, expect, it } from 'vitest';

import { type Gate, go } from '../../../../src/operators/lanes/fair-lanes.ts';
import { inLanes, type InLanesOptions } from '../../../../src/operators/lanes/in-lanes.ts';
import { collect } from '../../../support/collect.ts';

import { parts } from './support-in-lanes.ts';
import { owner } from './support.ts';

describe('inLanes', () => {
  it('gives out no more turns than it may and goes on when one ends', () => {
    const { lanes, options } = parts<number>();
    const seen = collect(range(1, 4).pipe(inLanes(options)));
    expect(seen.values.map(({ item }) => item)).toEqual([1, 2]);
    expect(lanes.size).toBe(2);
    seen.values[1]!.done();
    expect(seen.values.map(({ item }) => item)).toEqual([1, 2, 3]);
    seen.values[0]!.done();
    seen.values[2]!.done();
    expect(seen.ending).toBeUndefined();
    seen.values[3]!.done();
    expect(seen.ending).toBe('complete');
  });

  it('waits with one timer for what sleeps, and also when the timer fires early', () => {
    const { time, options } = parts<string>();
    const early: InLanesOptions<string> = {
      ...options,
      timers: { after: (ms, task) => time.after(Math.max(0.1, ms - 0.8), task) },
    };
    const seen = collect(of('a', 'b').pipe(inLanes(early)));
    seen.values[0]!.again(100);
    seen.values[1]!.again(200);
    expect(time.pending).toBe(1);
    time.advance(99.9);
    expect(seen.values).toHaveLength(2);
    time.advance(0.2);
    expect(seen.values.map(({ item }) => item)).toEqual(['a', 'b', 'a']);
    seen.values[2]!.done();
    time.advance(100);
    seen.values[3]!.done();
    expect(seen.ending).toBe('complete');
    expect(time.pending).toBe(0);
  });

  it('takes the timer forward when something earlier comes to sleep', () => {
    const { time, options } = parts<string>();
    const seen = collect(of('a', 'b').pipe(inLanes(options)));
    seen.values[0]!.again(500);
    seen.values[1]!.again(50);
    time.advance(50);
    expect(seen.values.map(({ item }) => item)).toEqual(['a', 'b', 'b']);
  });

  it('goes on when a room is woken or opens by itself', () => {
    let gate: Gate = { kind: 'wait', room: 'r', untilMs: Infinity };
    const { time, lanes, options } = parts<string>(() => gate);
    const seen = collect(of('a', 'b').pipe(inLanes(options)));
    expect(seen.values).toHaveLength(0);
    expect(time.pending).toBe(0);
    gate = { kind: 'wait', room: 'r', untilMs: 70 };
    lanes.wake('r');
    gate = go;
    time.advance(69);
    expect(seen.values).toHaveLength(0);
    time.advance(1);
    expect(seen.values.map(({ item }) => item)).toEqual(['a', 'b']);
  });

  it('cancels its timer and leaves the items in the lanes when unsubscribed', () => {
    const { time, lanes, options } = parts<string>();
    const seen = collect(of('a', 'b', 'c').pipe(inLanes(options)));
    seen.values[0]!.again(100);
    seen.values[1]!.again(100);
    seen.values[2]!.again(100);
    seen.subscription.unsubscribe();
    expect(time.pending).toBe(0);
    time.advance(1_000);
    expect(lanes.size).toBe(3);
    expect(seen.values).toHaveLength(3);
    expect(collect(NEVER.pipe(inLanes(options))).values).toHaveLength(2);
  });

  it('completes when all that is left is dropped', () => {
    const { lanes, options } = parts<string>();
    const seen = collect(of('a', 'b', 'c').pipe(inLanes(options)));
    expect(lanes.drop(owner)).toEqual(['c']);
    expect(seen.ending).toBe('complete');
  });

  it('goes round once more when again and wake are called inside a delivery', () => {
    const { lanes, options } = parts<string>((item) =>
      item === 'b' && blocked ? { kind: 'wait', room: 'r', untilMs: Infinity } : go,
    );
    let blocked = true;
    const order: string[] = [];
    const seen = collect(
      of('b', 'a').pipe(
        inLanes(options),
        tap((turn) => {
          order.push(turn.item);
          if (order.length === 1) {
            blocked = false;
            turn.again(0);
            lanes.wake('r');
          } else turn.done();
        }),
      ),
    );
    expect(order.sort()).toEqual(['a', 'a', 'b']);
    expect(seen.ending).toBe('complete');
  });

  it('errors with what the gate or the place throws, and with its source', () => {
    const gate = parts<number>(() => {
      throw new Error('gate');
    });
    expect(collect(of(1).pipe(inLanes(gate.options))).ending).toMatchObject({ message: 'gate' });
    const placed = parts<number>(
      undefined,
      {},
      {
        place: () => {
          throw new Error('place');
        },
      },
    );
    expect(collect(of(1).pipe(inLanes(placed.options))).ending).toMatchObject({ message: 'place' });
    const failed$ = throwError(() => new Error('source'));
    expect(collect(failed$.pipe(inLanes(parts().options))).ending).toMatchObject({ message: 'source' });
    expect(() => inLanes({ ...gate.options, maxInTurn: 0 })).toThrow(/lanes.maxInTurn/);
  });

  it('keeps the place of items that are still between it and its source', () => {
    const { lanes, options } = parts<number>(() => go, { capacityItems: 4 }, { maxInTurn: 1 });
    const source$ = new Subject<number>();
    collect(source$.pipe(inLanes(options)));
    expect(options.demand.outstanding).toBe(4);
    // Taken by the source, on their way.
    while (options.demand.take());
    lanes.wake('nobody');
    source$.next(1);
    expect(options.demand.outstanding).toBe(0);
    source$.next(2);
    expect(lanes.room).toBe(2);
    expect(options.demand.outstanding).toBe(0);
  });
});
