import { concat, EMPTY, NEVER, Observable, of, Subject, take, throwError } from 'rxjs';
import { describe, expect, it } from 'vitest';

import { adaptiveBreaker, Breaker, breakerDefaults, BreakerOpenError } from '../../../../src/operators/index.ts';
import { VirtualTime } from '../../../support/virtual-time.ts';

import { always } from './support.ts';

const setUp = () => {
  const clock = new VirtualTime();
  const breaker = new Breaker({ ...breakerDefaults, consecutiveFailures: 3 }, always(0));
  const seen = () => breaker.snapshot(clock.now());
  return { clock, breaker, seen };
};
const ignoreError = { error: () => undefined };
const boom$ = throwError(() => new Error('boom'));

describe('adaptiveBreaker', () => {
  it('passes values and completion through and counts one success per subscription', () => {
    const { clock, breaker, seen } = setUp();
    const guarded$ = of(1, 2, 3).pipe(adaptiveBreaker(breaker, { clock }));
    const got: number[] = [];
    guarded$.subscribe({ next: (value) => got.push(value), error: () => undefined });
    guarded$.subscribe();

    expect([got, seen().calls, seen().failures]).toEqual([[1, 2, 3], 2, 0]);
  });

  it('opens after errors in a row, then refuses with a typed error and does not subscribe to the source', () => {
    const { clock, breaker, seen } = setUp();
    let subscriptions = 0;
    const failing$ = new Observable<never>((subscriber) => {
      subscriptions++;
      subscriber.error(new Error('boom'));
    }).pipe(adaptiveBreaker(breaker, { clock }));
    const errors: unknown[] = [];
    for (let i = 0; i < 5; i++) failing$.subscribe({ error: (error: unknown) => errors.push(error) });

    expect([subscriptions, seen().state, seen().refusals]).toEqual([3, 'open', 2]);
    expect(errors[4]).toBeInstanceOf(BreakerOpenError);
    expect(errors[4]).toMatchObject({ untilMs: 1_000 });
  });

  it('takes its permit at subscription, not when the pipe is built', () => {
    const { clock, breaker } = setUp();
    const guarded$ = of('answer').pipe(adaptiveBreaker(breaker, { clock }));
    for (let i = 0; i < 3; i++) boom$.pipe(adaptiveBreaker(breaker, { clock })).subscribe(ignoreError);
    const errors: unknown[] = [];
    guarded$.subscribe({ error: (error: unknown) => errors.push(error) });
    expect(errors).toHaveLength(1);

    clock.advance(1_000);
    const got: string[] = [];
    guarded$.subscribe({ next: (value) => got.push(value), error: () => undefined });
    expect(got).toEqual(['answer']);
  });

  it('releases the permit when unsubscribed before anything came: a cancelled probe frees its place', () => {
    const { clock, breaker, seen } = setUp();
    for (let i = 0; i < 3; i++) boom$.pipe(adaptiveBreaker(breaker, { clock })).subscribe(ignoreError);
    clock.advance(1_000);
    const probes = Array.from({ length: 5 }, () => NEVER.pipe(adaptiveBreaker(breaker, { clock })).subscribe());
    expect(breaker.peek(clock.now())).toBe(16_000);

    for (const probe of probes) probe.unsubscribe();
    expect(breaker.peek(clock.now())).toBeUndefined();
    expect(seen()).toMatchObject({ state: 'half-open', calls: 0 });
  });

  it('counts once, by what came first: a value before an error, a value before unsubscribing', () => {
    const { clock, breaker, seen } = setUp();
    concat(of(1), boom$).pipe(adaptiveBreaker(breaker, { clock })).subscribe(ignoreError);
    concat(of(1), NEVER).pipe(adaptiveBreaker(breaker, { clock }), take(1)).subscribe();

    expect(seen()).toMatchObject({ calls: 2, failures: 0, lateResults: 0 });
  });

  it('measures how long the attempt took', () => {
    const { clock, breaker, seen } = setUp();
    const answer$ = new Subject<string>();
    answer$.pipe(adaptiveBreaker(breaker, { clock })).subscribe();
    clock.advance(3_000);
    answer$.next('late');

    expect(seen()).toMatchObject({ calls: 1, slow: 1 });
  });

  it('lets its user say what is a failure and what says nothing', () => {
    const { clock, breaker, seen } = setUp();
    const guard$ = adaptiveBreaker<number>(breaker, {
      clock,
      isFailure: (ending) => ending.kind === 'value' && ending.value >= 500,
      isNeutral: (ending) => ending.kind === 'value' && ending.value === 429,
    });
    for (const status of [200, 429, 503]) of(status).pipe(guard$).subscribe();
    EMPTY.pipe(guard$).subscribe();

    expect(seen()).toMatchObject({ calls: 3, failures: 1 });
  });
});
