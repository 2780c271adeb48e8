import { concat, EMPTY, from, NEVER, of, range, Subject, throwError } from 'rxjs';
import { describe, expect, it } from 'vitest';

import { Demand } from '../../../../src/operators/demand.ts';
import { eachOf } from '../../../../src/operators/lanes/each-of.ts';
import { mergeMapBounded } from '../../../../src/operators/lanes/merge-map-bounded.ts';
import { ringBuffer } from '../../../../src/operators/ring/ring-buffer.ts';
import { RingSet } from '../../../../src/operators/ring/ring-set.ts';
import { collect } from '../../../support/collect.ts';

describe('mergeMapBounded', () => {
  it('gets through 20,000 inners that end synchronously behind one that does not', () => {
    const first$ = new Subject<number>();
    const seen = collect(
      range(0, 20_000).pipe(mergeMapBounded((n) => (n === 0 ? first$ : of(n)), { concurrency: 1, buffer: 20_000 })),
    );
    expect(seen.values).toHaveLength(0);
    first$.complete();
    expect(seen.values).toHaveLength(19_999);
    expect(seen.values).toEqual(Array.from({ length: 19_999 }, (_, i) => i + 1));
    expect(seen.ending).toBe('complete');
  });

  it('keeps to its concurrency and starts in order', () => {
    const open: Subject<number>[] = [];
    const seen = collect(
      range(0, 10).pipe(
        mergeMapBounded(
          () => {
            const work$ = new Subject<number>();
            open.push(work$);
            return work$;
          },
          { concurrency: 3, buffer: 8 },
        ),
      ),
    );
    expect(open).toHaveLength(3);
    open[1]!.complete();
    expect(open).toHaveLength(4);
    for (let i = 0; i < open.length; i++) open[i]!.complete();
    expect(open).toHaveLength(10);
    expect(seen.ending).toBe('complete');
  });

  it('errors instead of dropping when a source without demand overflows the buffer', () => {
    const seen = collect(range(0, 10).pipe(mergeMapBounded(() => NEVER, { concurrency: 1, buffer: 4 })));
    expect(seen.ending).toMatchObject({ code: 'internal' });
  });

  it('asks its source for no more than it can hold, and for one more with every inner that ends', () => {
    const demand = new Demand();
    const rings = new RingSet<string, number>({ sizeOf: () => 1, pause: () => 0, resume: () => 0 });
    rings.open('p');
    const end$ = new Subject<never>();
    const seen = collect(
      range(0, 100).pipe(
        ringBuffer({ rings, partitionOf: () => 'p', demand }),
        mergeMapBounded((n) => concat(of(n), n === 0 ? end$ : NEVER), { concurrency: 2, buffer: 4, demand }),
      ),
    );
    expect(seen.values).toEqual([0, 1]);
    expect(rings.size).toBe(94);
    end$.complete();
    expect(seen.values).toEqual([0, 1, 2]);
    expect(rings.size).toBe(93);
  });

  it('propagates the error of an inner and ends the others', () => {
    const other$ = new Subject<number>();
    const seen = collect(
      from([other$, throwError(() => new Error('inner'))]).pipe(
        mergeMapBounded((work$) => work$, { concurrency: 2, buffer: 2 }),
      ),
    );
    expect(seen.ending).toMatchObject({ message: 'inner' });
    expect(other$.observed).toBe(false);
  });

  it('unsubscribes from the inners and starts nothing more', () => {
    let started = 0;
    const work$ = new Subject<number>();
    const sub = range(0, 5)
      .pipe(
        mergeMapBounded(
          () => {
            started++;
            return work$;
          },
          { concurrency: 2, buffer: 4 },
        ),
      )
      .subscribe();
    expect(started).toBe(2);
    sub.unsubscribe();
    expect(work$.observed).toBe(false);
    expect(started).toBe(2);
  });

  it.each([0, 1.5, Number.NaN])('refuses a concurrency of %d', (concurrency) => {
    expect(() => mergeMapBounded(() => EMPTY, { concurrency, buffer: 1 })).toThrow(/mergeMapBounded.concurrency/);
  });
});

describe('eachOf', () => {
  it('keeps the stack flat over 100,000 inners that end synchronously', () => {
    const depths = new Set<number>();
    const seen = collect(
      range(0, 100_000).pipe(
        eachOf((n) => {
          if (n % 10_000 === 0) depths.add(stackDepth());
          return of(n);
        }),
      ),
    );
    expect(seen.values).toHaveLength(100_000);
    expect(depths.size).toBe(1);
    expect(seen.ending).toBe('complete');
  });

  it('starts everything at once and unsubscribes from all of it', () => {
    const works = Array.from({ length: 1_000 }, () => new Subject<number>());
    const sub = from(works)
      .pipe(eachOf((work$) => work$))
      .subscribe();
    expect(works.every((work$) => work$.observed)).toBe(true);
    sub.unsubscribe();
    expect(works.some((work$) => work$.observed)).toBe(false);
  });
});

function stackDepth(): number {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = Infinity;
  const depth = new Error('depth').stack!.split('\n').length;
  Error.stackTraceLimit = limit;
  return depth;
}
