import { defer, of, range, Subject, tap } from 'rxjs';
import { describe, expect, it } from 'vitest';

import { eachOf } from '../../../../src/operators/lanes/each-of.ts';
import { go } from '../../../../src/operators/lanes/fair-lanes.ts';
import { inLanes } from '../../../../src/operators/lanes/in-lanes.ts';
import { ringBuffer } from '../../../../src/operators/ring/ring-buffer.ts';
import { RingSet } from '../../../../src/operators/ring/ring-set.ts';
import { collect } from '../../../support/collect.ts';

import { parts } from './support-in-lanes.ts';
import { at } from './support.ts';

describe('inLanes under load', () => {
  it('neither recurses nor loses one of 20,000 turns that end inside their own delivery', () => {
    const { options } = parts<number>(() => go, { capacityItems: 20_000 }, { maxInTurn: 1 });
    const order: number[] = [];
    let depth = 0;
    let deepest = 0;
    const first$ = new Subject<undefined>();
    const seen = collect(
      range(0, 20_000).pipe(
        inLanes(options),
        eachOf((turn) =>
          defer(() => (turn.item === 0 ? first$ : of(undefined))).pipe(
            tap({
              complete: () => {
                depth++;
                deepest = Math.max(deepest, depth);
                order.push(turn.item);
                turn.done();
                depth--;
              },
            }),
          ),
        ),
      ),
    );
    expect(order).toEqual([]);
    first$.complete();
    expect(order).toEqual(Array.from({ length: 20_000 }, (_, i) => i));
    expect(deepest).toBeLessThanOrEqual(2);
    expect(seen.ending).toBe('complete');
  });

  it('takes 100,000 items from a fast source through a slow consumer with every buffer bounded and in order', () => {
    const total = 100_000;
    const keys = 7;
    const source$ = new Subject<number>();
    let paused = false;
    const mayFetch = (): boolean => !paused;
    const rings = new RingSet<string, number>({
      sizeOf: () => 1,
      pause: () => {
        paused = true;
      },
      resume: () => {
        paused = false;
      },
    });
    rings.open('p');
    const { lanes, options } = parts<number>(
      () => go,
      { capacityItems: 256 },
      {
        place: (n) => at(String(n % keys)),
        maxInTurn: 32,
      },
    );
    const seen = collect(
      source$.pipe(ringBuffer({ rings, partitionOf: () => 'p', demand: options.demand }), inLanes(options)),
    );
    const most = { ring: 0, lanes: 0, inTurn: 0 };
    const lastOf = new Map<number, number>();
    let sent = 0;
    let ended = 0;
    while (ended < total) {
      for (let i = 0; i < 64 && mayFetch() && sent < total; i++) source$.next(sent++);
      most.ring = Math.max(most.ring, rings.size);
      most.lanes = Math.max(most.lanes, lanes.size);
      most.inTurn = Math.max(most.inTurn, lanes.inTurn);
      // Slow: one turn ends per fetch of 64, until the source has told all.
      const turn = seen.values.shift();
      if (turn === undefined) break;
      expectNext(lastOf, turn.item, keys);
      turn.done();
      ended++;
    }
    expect(ended).toBe(total);
    expect(most.ring).toBeLessThanOrEqual(512);
    expect(most.lanes + most.inTurn).toBeLessThanOrEqual(256 + 32);
    expect(most.inTurn).toBeLessThanOrEqual(keys);
    source$.complete();
    expect(seen.ending).toBe('complete');
  });
});

function expectNext(lastOf: Map<number, number>, n: number, keys: number): void {
  const key = n % keys;
  const next = (lastOf.get(key) ?? key - keys) + keys;
  if (next !== n) expect.fail(`lane ${key} gave ${n} instead of ${next}`);
  lastOf.set(key, n);
}
