import { NEVER, Observable, of, range, Subject, take, throwError } from 'rxjs';
import { describe, expect, it } from 'vitest';

import { Demand } from '../../../../src/operators/demand.ts';
import { ringBuffer } from '../../../../src/operators/ring/ring-buffer.ts';
import { RingSet, type RingSetOptions } from '../../../../src/operators/ring/ring-set.ts';
import { collect } from '../../../support/collect.ts';

function buffer(options: Partial<RingSetOptions<string, number>> = {}) {
  const rings = new RingSet<string, number>({ sizeOf: () => 1, pause: () => 0, resume: () => 0, ...options });
  rings.open('p');
  const demand = new Demand();
  return { rings, demand, buffered: ringBuffer<string, number>({ rings, partitionOf: () => 'p', demand }) };
}

describe('ringBuffer', () => {
  it('emits only what was asked for, when it was asked for', () => {
    const { demand, buffered } = buffer();
    const source$ = new Subject<number>();
    demand.request(1);
    const seen = collect(source$.pipe(buffered));
    source$.next(1);
    source$.next(2);
    source$.next(3);
    expect(seen.values).toEqual([1]);
    demand.request(1);
    expect(seen.values).toEqual([1, 2]);
    demand.request(5);
    source$.next(4);
    expect(seen.values).toEqual([1, 2, 3, 4]);
    expect(demand.outstanding).toBe(3);
  });

  it('completes only after the last item was asked for', () => {
    const { demand, buffered } = buffer();
    const seen = collect(range(0, 3).pipe(buffered));
    demand.request(2);
    expect(seen.ending).toBeUndefined();
    demand.request(1);
    expect(seen.ending).toBe('complete');
    expect(collect(range(0, 0).pipe(buffered)).ending).toBe('complete');
  });

  it('completes when what was left is dropped after the source has ended', () => {
    const { rings, buffered } = buffer();
    const seen = collect(range(0, 3).pipe(buffered));
    rings.drop('p');
    expect(seen.ending).toBe('complete');
  });

  it('keeps the stack flat when each item asks for the next from inside its own delivery', () => {
    const { demand, buffered } = buffer({ capacity: 32_768, watermarks: { highItems: 30_000 } });
    const seen: number[] = [];
    let depth = 0;
    let deepest = 0;
    range(0, 20_000)
      .pipe(buffered)
      .subscribe((n) => {
        depth++;
        deepest = Math.max(deepest, depth);
        seen.push(n);
        demand.request(1);
        depth--;
      });
    demand.request(1);
    expect(seen).toEqual(Array.from({ length: 20_000 }, (_, i) => i));
    expect(deepest).toBe(1);
  });

  it('keeps order when the source emits from inside a delivery', () => {
    const { demand, buffered } = buffer();
    const source$ = new Subject<number>();
    const seen: number[] = [];
    demand.request(10);
    source$.pipe(buffered).subscribe((n) => {
      if (n === 1) for (const next of [2, 3]) source$.next(next);
      seen.push(n);
    });
    source$.next(1);
    expect(seen).toEqual([1, 2, 3]);
  });

  it('leaves in the rings what was not asked for, for the next subscription', () => {
    const { rings, demand, buffered } = buffer();
    const first = collect(
      new Observable<number>((to) => to.add(range(0, 5).subscribe((n) => to.next(n)))).pipe(buffered),
    );
    demand.request(2);
    first.subscription.unsubscribe();
    demand.request(3);
    expect(first.values).toEqual([0, 1]);
    expect(rings.size).toBe(3);
    expect(collect(NEVER.pipe(buffered)).values).toEqual([2, 3, 4]);
  });

  it('stops a source that emits synchronously as soon as nobody listens', () => {
    const { rings, demand, buffered } = buffer();
    demand.request(Infinity);
    const seen = collect(range(0, Number.MAX_SAFE_INTEGER).pipe(buffered, take(3)));
    expect(seen.values).toEqual([0, 1, 2]);
    expect(seen.ending).toBe('complete');
    expect(rings.size).toBe(0);
  });

  it('passes the error of its source on, and errors when the source ignores pause', () => {
    const { buffered } = buffer();
    expect(collect(throwError(() => new Error('source')).pipe(buffered)).ending).toMatchObject({ message: 'source' });
    expect(collect(range(0, 5_000).pipe(buffered)).ending).toMatchObject({ code: 'internal' });
  });

  it('tells what is wrong when a record has no partition', () => {
    const { rings, demand } = buffer();
    const buffered = ringBuffer<string, number>({ rings, partitionOf: () => 'other', demand });
    expect(collect(of(1).pipe(buffered)).ending).toMatchObject({ code: 'internal' });
  });

  it('S17: 5000 records, 64 per fetch, 16 served per turn: 9 pauses, 9 resumes, none lost, at most 575 queued', () => {
    const figures = { pauses: 0, resumes: 0, mostQueued: 0 };
    let paused = false;
    const source$ = new Subject<number>();
    const { rings, demand, buffered } = buffer({
      pause: () => {
        figures.pauses++;
        paused = true;
      },
      resume: () => {
        figures.resumes++;
        paused = false;
      },
    });
    const seen = collect(source$.pipe(buffered));
    let next = 0;
    while (seen.values.length < 5_000) {
      if (!paused) {
        // What one fetch brought is handed over even when the pause comes in the middle of it.
        for (let i = 0; i < 64 && next < 5_000; i++) source$.next(next++);
        figures.mostQueued = Math.max(figures.mostQueued, rings.size);
      }
      demand.request(16);
    }
    expect(seen.values).toEqual(Array.from({ length: 5_000 }, (_, i) => i));
    expect(figures).toMatchObject({ pauses: 9, resumes: 9 });
    expect(figures.mostQueued).toBeLessThanOrEqual(575);
    expect(figures.mostQueued).toBeGreaterThan(511);
  });
});
