import { PerformanceObserver } from 'node:perf_hooks';

import { Subject } from 'rxjs';
import { describe, expect, it } from 'vitest';

import { Demand } from '../../../src/operators/demand.ts';
import { ringBuffer } from '../../../src/operators/ring/ring-buffer.ts';
import { RingSet } from '../../../src/operators/ring/ring-set.ts';
import { Ring } from '../../../src/operators/ring/ring.ts';

const nothing = (): void => undefined;
const rings = (): RingSet<string, number> => new RingSet({ sizeOf: () => 500, pause: nothing, resume: nothing });

/** Time of this process in ns per item: other suites run beside this one. */
function nsPerItem(items: number, run: (items: number) => void): number {
  run(items / 10);
  const startedUs = process.cpuUsage().user;
  run(items);
  return ((process.cpuUsage().user - startedUs) * 1_000) / items;
}

describe('the ring at speed', () => {
  it('S000-64: admits and gives out at least a million items a second', () => {
    const set = rings();
    set.open('p');
    const ns = nsPerItem(2_000_000, (items) => {
      for (let i = 0; i < items; i++) {
        set.push('p', i);
        set.shift();
      }
    });

    expect(ns).toBeLessThan(1_000);
  });

  it('S000-64: adds less than 1 ms at p99 with 5,000 items a second', async () => {
    const set = rings();
    set.open('p');
    const demand = new Demand();
    const source$ = new Subject<number>();
    const addedMs: number[] = [];
    const running = source$.pipe(ringBuffer({ rings: set, partitionOf: () => 'p', demand })).subscribe({
      next: (atMs) => {
        addedMs.push(performance.now() - atMs);
        // Who took one asks for the next one, as the stages behind do.
        demand.request(1);
      },
      error: (error: unknown) => expect.fail(String(error)),
    });
    demand.request(1);
    const startedMs = performance.now();
    while (addedMs.length < 5_000) {
      const due = Math.min(5_000, Math.floor((performance.now() - startedMs) * 5));
      while (addedMs.length < due) source$.next(performance.now());
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    running.unsubscribe();
    addedMs.sort((a, b) => a - b);

    expect(addedMs[4_949]).toBeLessThan(1);
  });

  it('S000-65: ten million pushes allocate nothing', async () => {
    const ring = new Ring<number>(1_024);
    const through = (items: number): void => {
      for (let i = 0; i < items; i++) {
        ring.push(i);
        ring.shift();
      }
    };
    const { collections, grownBytes } = await watched(through);

    // Eight bytes per push would be 80 MB: several rounds of the collector.
    expect(collections).toBeLessThan(2);
    expect(grownBytes).toBeLessThan(1_000_000);
  });

  it('S000-65: a ring that wraps each item is caught', async () => {
    const ring = new Ring<{ readonly item: number }>(1_024);
    const { collections } = await watched((items) => {
      for (let i = 0; i < items; i++) {
        ring.push({ item: i });
        ring.shift();
      }
    });

    expect(collections).toBeGreaterThan(1);
  });
});

/** Runs ten million items and tells what the garbage collector had to do meanwhile. How long they take tells the bench of operators. */
async function watched(run: (items: number) => void): Promise<{ collections: number; grownBytes: number }> {
  const pauses: number[] = [];
  const observer = new PerformanceObserver((list) => {
    for (const { startTime } of list.getEntries()) pauses.push(startTime);
  });
  observer.observe({ entryTypes: ['gc'] });
  run(100_000);
  const heapBytes = process.memoryUsage().heapUsed;
  const startMs = performance.now();
  run(10_000_000);
  const endMs = performance.now();
  const grownBytes = process.memoryUsage().heapUsed - heapBytes;
  // The observer is told in a later turn.
  await new Promise((resolve) => setTimeout(resolve, 20));
  observer.disconnect();
  return { collections: pauses.filter((atMs) => atMs >= startMs && atMs <= endMs).length, grownBytes };
}
