import { map, type Observable, type Observer } from 'rxjs';
import { describe, expect, it } from 'vitest';

import { andThen } from '../../../../src/operators/interop/and-then.ts';
import { follow, light } from '../../../../src/operators/interop/light.ts';
import { eachOf } from '../../../../src/operators/lanes/each-of.ts';
import { collect } from '../../../support/collect.ts';

/** An answer that is given by hand. */
function asked() {
  const observers: Observer<number>[] = [];
  let stopped = 0;
  const answer$ = light<number>((observer) => {
    observers.push(observer);
    return {
      unsubscribe: () => {
        stopped++;
      },
    };
  });
  const answer = (value: number): void => {
    observers[0]?.next(value);
    observers[0]?.complete();
  };
  return { answer$, answer, started: () => observers.length, stopped: () => stopped };
}

const atOnce$ = (value: number): Observable<number> =>
  light((observer) => {
    observer.next(value);
    observer.complete();
    return { unsubscribe: () => undefined };
  });

const fail = (error: unknown): never => {
  throw error;
};

describe('light', () => {
  it('is an Observable like any other: cold, with all operators, stopped by unsubscribing', () => {
    const { answer$, answer, started, stopped } = asked();
    const doubled$ = answer$.pipe(map((n) => n * 2));
    expect(started()).toBe(0);
    const seen = collect(doubled$);
    answer(21);
    expect([seen.values, seen.ending]).toEqual([[42], 'complete']);

    const other = asked();
    other.answer$.subscribe({ error: fail }).unsubscribe();
    expect([other.started(), other.stopped()]).toEqual([1, 1]);
    expect(stopped()).toBe(1);
  });

  it('tells as an error what starting it throws, on the short way too', () => {
    const broken = new Error('broken');
    const broken$ = light<number>(() => {
      throw broken;
    });
    const told: unknown[] = [];
    follow(broken$, { next: () => undefined, error: (error: unknown) => told.push(error), complete: () => undefined });

    expect(told).toEqual([broken]);
    expect(collect(broken$).ending).toBe(broken);
  });

  it('goes through a chain and a stage as other streams do', () => {
    const { answer$, answer } = asked();
    const seen = collect(
      atOnce$(1).pipe(eachOf(() => andThen(answer$, (n) => andThen(atOnce$(n), (same) => same + 1)))),
    );
    expect(seen.ending).toBeUndefined();
    answer(7);
    expect([seen.values, seen.ending]).toEqual([[8], 'complete']);
  });

  it('is stopped by the stage and the chain that follow it, and nothing is told afterwards', () => {
    const { answer$, stopped } = asked();
    let ended = 0;
    const seen: number[] = [];
    const subscription = atOnce$(1)
      .pipe(
        eachOf(() =>
          andThen(
            answer$,
            (n) => n,
            () => ended++,
          ),
        ),
      )
      .subscribe({ next: (n) => seen.push(n), error: fail });
    subscription.unsubscribe();

    expect([stopped(), ended, seen]).toEqual([1, 1, []]);
  });

  it('frees what a chain held only after its value has been passed on', () => {
    const order: string[] = [];
    andThen(
      atOnce$(1),
      () => 'value',
      () => order.push('ended'),
    ).subscribe({ next: (value) => order.push(value), error: fail, complete: () => order.push('complete') });

    expect(order).toEqual(['value', 'complete', 'ended']);
  });
});
