import { concat, NEVER, of, range, Subject, take, tap, throwError } from 'rxjs';
import { describe, expect, it } from 'vitest';

import { Demand } from '../../../../src/operators/demand.ts';
import { ringBuffer } from '../../../../src/operators/ring/ring-buffer.ts';
import { RingSet, type RingSetOptions } from '../../../../src/operators/ring/ring-set.ts';
import { collect } from '../../../support/collect.ts';

function buffer(options: Partial<RingSetOptions<string, number>> = {}) {
  const rings = new RingSet<string, number>({ sizeOf: () => 1, pause: () => 0, resume: () => 0, ...options });
  rings.open('p');
  const demand = new Demand();
  return { rings, demand, partitionOf: () => 'p' };
}

describe('ringBuffer', () => {
  it('emits only what was asked for, when it was asked for', () => {
    const parts = buffer();
    const source$ = new Subject<number>();
    parts.demand.request(1);
    const seen = collect(source$.pipe(ringBuffer(parts)));
    source$.next(1);
    source$.next(2);
    source$.next(3);
    expect(seen.values).toEqual([1]);
    parts.demand.request(1);
    expect(seen.values).toEqual([1, 2]);
    parts.demand.request(5);
    source$.next(4);
    expect(seen.values).toEqual([1, 2, 3, 4]);
    expect(parts.demand.outstanding).toBe(3);
  });

  it('completes only after the last item was asked for', () => {
    const parts = buffer();
    const seen = collect(range(0, 3).pipe(ringBuffer(parts)));
    parts.demand.request(2);
    expect(seen.ending).toBeUndefined();
    parts.demand.request(1);
    expect(seen.ending).toBe('complete');
    expect(collect(range(0, 0).pipe(ringBuffer(parts))).ending).toBe('complete');
  });

  it('completes when what was left is dropped after the source has ended', () => {
    const parts = buffer();
    const seen = collect(range(0, 3).pipe(ringBuffer(parts)));
    parts.rings.drop('p');
    expect(seen.ending).toBe('complete');
  });

  it('keeps the stack flat when each item asks for the next from inside its own delivery', () => {
    const parts = buffer({ capacity: 32_768, watermarks: { highItems: 30_000 } });
    const seen: number[] = [];
    let depth = 0;
    let deepest = 0;
    collect(
      range(0, 20_000).pipe(
        ringBuffer(parts),
        tap((n) => {
          depth++;
          deepest = Math.max(deepest, depth);
          seen.push(n);
          parts.demand.request(1);
          depth--;
        }),
      ),
    );
    parts.demand.request(1);
    expect(seen).toEqual(Array.from({ length: 20_000 }, (_, i) => i));
    expect(deepest).toBe(1);
  });

  it('keeps order when the source emits from inside a delivery', () => {
    const parts = buffer();
    const source$ = new Subject<number>();
    const seen: number[] = [];
    parts.demand.request(10);
    collect(
      source$.pipe(
        ringBuffer(parts),
        tap((n) => {
          if (n === 1) for (const next of [2, 3]) source$.next(next);
          seen.push(n);
        }),
      ),
    );
    source$.next(1);
    expect(seen).toEqual([1, 2, 3]);
  });

  it('leaves in the rings what was not asked for, for the next subscription', () => {
    const parts = buffer();
    const first = collect(concat(range(0, 5), NEVER).pipe(ringBuffer(parts)));
    parts.demand.request(2);
    first.subscription.unsubscribe();
    parts.demand.request(3);
    expect(first.values).toEqual([0, 1]);
    expect(parts.rings.size).toBe(3);
    expect(collect(NEVER.pipe(ringBuffer(parts))).values).toEqual([2, 3, 4]);
  });

  it('stops a source that emits synchronously as soon as nobody listens', () => {
    const parts = buffer();
    parts.demand.request(Infinity);
    const seen = collect(range(0, Number.MAX_SAFE_INTEGER).pipe(ringBuffer(parts), take(3)));
    expect(seen.values).toEqual([0, 1, 2]);
    expect(seen.ending).toBe('complete');
    expect(parts.rings.size).toBe(0);
  });

  it('passes the error of its source on, and errors when the source ignores pause', () => {
    const parts = buffer();
    expect(collect(throwError(() => new Error('source')).pipe(ringBuffer(parts))).ending).toMatchObject({
      message: 'source',
    });
    expect(collect(range(0, 5_000).pipe(ringBuffer(parts))).ending).toMatchObject({ code: 'internal' });
  });

  it('tells what is wrong when a record has no partition', () => {
    const parts = { ...buffer(), partitionOf: () => 'other' };
    expect(collect(of(1).pipe(ringBuffer(parts))).ending).toMatchObject({ code: 'internal' });
  });

  it('S17: 5000 records, 64 per fetch, 16 served per turn: 9 pauses, 9 resumes, none lost, at most 575 queued', () => {
    const figures = { pauses: 0, resumes: 0, mostQueued: 0 };
    let paused = false;
    const source$ = new Subject<number>();
    const parts = buffer({
      pause: () => {
        figures.pauses++;
        paused = true;
      },
      resume: () => {
        figures.resumes++;
        paused = false;
      },
    });
    const seen = collect(source$.pipe(ringBuffer(parts)));
    const isPaused = (): boolean => paused;
    let next = 0;
    while (seen.values.length < 5_000) {
      if (!isPaused()) {
        // What one fetch brought is handed over even when the pause comes in the middle of it.
        for (let i = 0; i < 64 && next < 5_000; i++) source$.next(next++);
        figures.mostQueued = Math.max(figures.mostQueued, parts.rings.size);
      }
      parts.demand.request(16);
    }
    expect(seen.values).toEqual(Array.from({ length: 5_000 }, (_, i) => i));
    expect(figures).toMatchObject({ pauses: 9, resumes: 9 });
    expect(figures.mostQueued).toBeLessThanOrEqual(575);
    expect(figures.mostQueued).toBeGreaterThan(511);
  });
});
