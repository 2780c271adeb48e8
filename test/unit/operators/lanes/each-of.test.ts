import { concat, NEVER, of, range, Subject, take } from 'rxjs';
import { describe, expect, it } from 'vitest';

import { eachOf } from '../../../../src/operators/lanes/each-of.ts';
import { collect } from '../../../support/collect.ts';

describe('eachOf', () => {
  it('passes on values, streams and nothing', () => {
    const seen = collect(
      of(1, 2, 3).pipe(eachOf((n) => (n === 1 ? 'one' : n === 2 ? of('two', undefined) : undefined))),
    );

    expect(seen.values).toEqual(['one', 'two']);
    expect(seen.ending).toBe('complete');
  });

  it('keeps a flat stack over 100,000 inners that end at once', () => {
    const seen = collect(range(0, 100_000).pipe(eachOf((n) => of(n))));

    expect(seen.values).toHaveLength(100_000);
  });

  it('ends with the error of an inner, and with what the step throws', () => {
    const broken = new Error('broken');
    const thrown = collect(
      of(1).pipe(
        eachOf((): number => {
          throw broken;
        }),
      ),
    );

    expect(thrown.ending).toBe(broken);
  });

  it('leaves no inner behind that was being subscribed to when the stream was stopped', () => {
    const inner$ = new Subject<number>();
    const seen = collect(
      of(1).pipe(
        eachOf(() => concat(of(7), inner$)),
        take(1),
      ),
    );

    expect(seen.values).toEqual([7]);
    expect(inner$.observed).toBe(false);
  });

  it('completes when the source and all inners have', () => {
    const inner$ = new Subject<number>();
    const source$ = new Subject<number>();
    const seen = collect(source$.pipe(eachOf(() => inner$)));
    source$.next(1);
    source$.complete();
    expect(seen.ending).toBeUndefined();
    inner$.complete();
    expect(seen.ending).toBe('complete');
  });

  it('unsubscribes from all inners', () => {
    const inners = [new Subject<number>(), new Subject<number>()];
    const subscription = concat(of(0, 1), NEVER)
      .pipe(eachOf((n) => inners[n]))
      .subscribe();
    subscription.unsubscribe();

    expect(inners.map((inner$) => inner$.observed)).toEqual([false, false]);
  });
});
