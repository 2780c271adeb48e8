import fc from 'fast-check';
import { defer, finalize, NEVER, Observable, of, throwError } from 'rxjs';
import { describe, expect, it } from 'vitest';

import {
  RetryBudget,
  retryDefaults,
  type RetryWithBackoffOptions,
  retryWithBackoff,
  type Step,
} from '../../../../src/operators/index.ts';
import { VirtualTime } from '../../../support/virtual-time.ts';

const half = { next: () => 0.5 };

/** Like `throwError`, for what need not be an Error. */
const fails$ = (error: unknown) => new Observable<never>((subscriber) => subscriber.error(error));

/** Fails so often, then answers; notes when each attempt was made. */
const failing = (time: VirtualTime, failures: number, error: unknown = new Error('boom')) => {
  const attemptsAt: number[] = [];
  const source$ = defer(() => {
    attemptsAt.push(time.now());
    return attemptsAt.length <= failures ? fails$(error) : of('answer');
  });
  return { source$, attemptsAt };
};
const run = (failures: number, changed: Partial<RetryWithBackoffOptions> = {}, error?: unknown) => {
  const time = new VirtualTime();
  const { source$, attemptsAt } = failing(time, failures, error);
  const seen: unknown[] = [];
  const subscription = source$
    .pipe(retryWithBackoff({ clock: time, timers: time, random: half, ...changed }))
    .subscribe({
      next: (value) => seen.push(value),
      error: (thrown: unknown) => seen.push(thrown),
      complete: () => seen.push('complete'),
    });
  return { time, attemptsAt, seen, subscription };
};

describe('retryWithBackoff', () => {
  it('subscribes again 100 ms, then 200 ms later, and passes the answer on', () => {
    const { time, attemptsAt, seen } = run(2);
    time.advance(1_000);

    expect(attemptsAt).toEqual([0, 100, 300]);
    expect(seen).toEqual(['answer', 'complete']);
    expect(time.pending).toBe(0);
  });

  it('passes the last error on when its attempts are used up, and never completes in silence', () => {
    const error = new Error('still down');
    const { time, attemptsAt, seen } = run(Infinity, {}, error);
    time.advance(3_600_000);

    expect(attemptsAt).toHaveLength(retryDefaults.attemptsInARow);
    expect(seen).toEqual([error]);
  });

  it('passes on what is not to be repeated at once, as it is, also when it is no Error', () => {
    const { seen, attemptsAt } = run(Infinity, { isRetryable: () => false }, 'no such chat');

    expect([seen, attemptsAt.length]).toEqual([['no such chat'], 1]);
  });

  it('waits as long as the error asks for', () => {
    const { time, attemptsAt } = run(1, { askedMs: () => 3_000 });
    time.advance(10_000);

    expect(attemptsAt).toEqual([0, 3_000]);
  });

  it.each([
    [399, 1],
    [400, 2],
  ])('with a deadline at %i ms makes %i attempts', (deadlineMs, attempts) => {
    const { time, attemptsAt } = run(1, { deadlineMs });
    time.advance(10_000);

    expect(attemptsAt).toHaveLength(attempts);
  });

  it('makes no further attempt and leaves no timer when unsubscribed during the wait', () => {
    const { time, attemptsAt, subscription } = run(1);
    time.advance(50);
    subscription.unsubscribe();
    expect(time.pending).toBe(0);

    time.advance(10_000);
    expect(attemptsAt).toEqual([0]);
  });

  it('unsubscribes from the attempt that is under way', () => {
    const time = new VirtualTime();
    let cancelled = false;
    const hanging$ = NEVER.pipe(finalize(() => (cancelled = true)));
    hanging$
      .pipe(retryWithBackoff({ clock: time, timers: time, random: half }))
      .subscribe()
      .unsubscribe();

    expect(cancelled).toBe(true);
  });

  it('shares a budget: the second caller does not get what the first has spent', () => {
    const budget = new RetryBudget({ start: 3, perSuccess: 0, cap: 3 });
    const first = run(Infinity, { budget });
    first.time.advance(60_000);
    const second = run(Infinity, { budget });
    second.time.advance(60_000);

    expect([first.attemptsAt.length, second.attemptsAt.length]).toEqual([4, 1]);
  });

  it('earns credit with each completion', () => {
    const budget = new RetryBudget({ start: 0, perSuccess: 0.5, cap: 3 });
    run(0, { budget });

    expect(budget.credit).toBe(0.5);
  });

  it('tells each decision', () => {
    const steps: [Step['do'], number][] = [];
    const { time } = run(Infinity, { onStep: (step, _, attempt) => steps.push([step.do, attempt]) });
    time.advance(60_000);

    expect(steps).toEqual([
      ['wait', 1],
      ['wait', 2],
      ['wait', 3],
      ['hold', 4],
    ]);
  });

  it('counts per subscription, so that one pipe serves many', () => {
    const time = new VirtualTime();
    let attempts = 0;
    const always$ = defer(() => {
      attempts++;
      return throwError(() => new Error('boom'));
    }).pipe(retryWithBackoff({ clock: time, timers: time, random: half, options: { maxAttempts: 2 } }));
    for (let i = 0; i < 3; i++) always$.subscribe({ error: () => undefined });
    time.advance(10_000);

    expect(attempts).toBe(6);
  });
});

describe('retryWithBackoff, invariant 15', () => {
  const unknown = new Error('outcome unknown');
  const neverRepeats = (isRetryable: (error: unknown) => boolean) =>
    fc.property(fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }), (knownFailures) => {
      const time = new VirtualTime();
      let [attempt, afterUnknown] = [0, 0];
      let sawUnknown = false;
      const source$ = defer(() => {
        if (sawUnknown) afterUnknown++;
        const known = knownFailures[attempt++] ?? true;
        if (!known) sawUnknown = true;
        return throwError(() => (known ? new Error('refused') : unknown));
      });
      source$
        .pipe(retryWithBackoff({ clock: time, timers: time, random: half, isRetryable }))
        .subscribe({ error: () => undefined });
      time.advance(600_000);
      return afterUnknown === 0;
    });

  it('never repeats an attempt whose outcome must not be repeated', () => {
    fc.assert(neverRepeats((error) => error !== unknown));
  });

  it('is caught when it repeats whatever failed', () => {
    expect(fc.check(neverRepeats(() => true)).failed).toBe(true);
  });
});
