import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { Subject } from 'rxjs';
import { expect, it } from 'vitest';

import { Demand } from '../../../src/operators/demand.ts';
import { FairLanes, go } from '../../../src/operators/lanes/fair-lanes.ts';
import { inLanes } from '../../../src/operators/lanes/in-lanes.ts';
import type { Turn } from '../../../src/operators/lanes/turn.ts';
import { seededRandom, VirtualTime } from '../../support/virtual-time.ts';

const calls = 100_000;
const owner = { partition: 0 };

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
/** Without what nobody holds any more. */
const heldBytes = (): number => {
  collectGarbage();
  return process.memoryUsage().heapUsed;
};

it('S000-18: 100,000 waiting retries share one timer and less than 60 MB, and each comes at its time', () => {
  const time = new VirtualTime();
  const random = seededRandom(7);
  const lanes = new FairLanes<number>({ capacityItems: calls }, () => go);
  const options = { lanes, demand: new Demand(), maxInTurn: calls, clock: time, timers: time };
  const dueMs = Float64Array.from({ length: calls }, () => 1_000 + Math.floor(random.next() * 600_000));
  const lateMs: number[] = [];
  const first = new Uint8Array(calls).fill(1);
  const work$ = new Subject<number>();
  const place = (n: number) =>
    ({ lane: `key-${n}`, owner, priority: 'normal', tenant: `t-${n % 100}`, cost: 1 }) as const;
  work$.pipe(inLanes({ ...options, place })).subscribe({
    error: (error: unknown) => expect.fail(String(error)),
    next: (turn: Turn<number>) => {
      const { item } = turn;
      if (first[item] === 1) {
        first[item] = 0;
        turn.again(dueMs[item] ?? 0);
        return;
      }
      lateMs.push(time.now() - (dueMs[item] ?? 0));
      turn.done();
    },
  });
  const beforeBytes = heldBytes();
  for (let n = 0; n < calls; n++) work$.next(n);
  const bytes = heldBytes() - beforeBytes;
  expect(bytes).toBeGreaterThan(calls);
  expect(bytes).toBeLessThan(60 * 1024 * 1024);
  expect(lanes.stats().lanes.asleep).toBe(calls);
  expect(lanes.inTurn).toBe(0);
  expect(time.pending).toBe(1);
  time.advance(601_000);
  expect(lateMs).toHaveLength(calls);
  expect(lateMs.every((ms) => ms >= 0 && ms < 2)).toBe(true);
  expect(time.pending).toBe(0);
});
