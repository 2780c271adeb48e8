import { defer, type MonoTypeOperatorFunction, Observable, retry, tap } from 'rxjs';

import type { Clock, Timers } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';

import { type RetryOptions, retryDefaults } from './options.ts';
import { RetryBudget } from './retry-budget.ts';
import { RetryPlan, type Step } from './retry-plan.ts';

/** How {@link retryWithBackoff} repeats. */
export interface RetryWithBackoffOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  /** What differs from {@link retryDefaults}. */
  readonly options?: Partial<RetryOptions>;
  /** Shared by all who call the same upstream; default: one of its own for each use of the operator. */
  readonly budget?: RetryBudget;
  /** Which errors may be repeated. Default: all. */
  readonly isRetryable?: (error: unknown) => boolean;
  /** Wait in milliseconds that an error asks for, e.g. from Retry-After. Default: 0. */
  readonly askedMs?: (error: unknown) => number;
  /** Monotonic milliseconds after which nobody wants the answer. Default: none. */
  readonly deadlineMs?: number;
  /** Told each decision, for logs and metrics. */
  readonly onStep?: (step: Step, error: unknown, attempt: number) => void;
}

/**
 * Subscribes to the source again after an error, with exponential back-off, jitter, a retry budget and a deadline.
 *
 * Values pass through as they come. When no further attempt is to be made (not retryable, attempts or time used up,
 * budget empty, a wait longer than `longestWaitMs`) the last error is passed on: it never completes in silence and never
 * repeats without bound. Unsubscribing cancels the attempt or the wait, whichever is under way; no timer is left.
 * Each subscription counts its own attempts. The source must be cold: a promise lifted with `from` cannot be repeated.
 */
export function retryWithBackoff<T>(settings: RetryWithBackoffOptions): MonoTypeOperatorFunction<T> {
  const { clock, timers, random, deadlineMs = Infinity, isRetryable = () => true, askedMs = () => 0 } = settings;
  const plan = new RetryPlan({ ...retryDefaults, ...settings.options }, random);
  const budget = settings.budget ?? new RetryBudget(plan.options.budget);
  return (source$) =>
    defer(() => {
      const startedMs = clock.now();
      const again$ = (error: unknown, attempt: number): Observable<unknown> => {
        if (!isRetryable(error)) return failWith(error);
        const nowMs = clock.now();
        const [leftMs, elapsedMs] = [deadlineMs - nowMs, nowMs - startedMs];
        const step = plan.after({ attempt, charged: attempt, leftMs, askedMs: askedMs(error), elapsedMs }, budget);
        settings.onStep?.(step, error, attempt);
        return step.do === 'wait' ? emitAfter(timers, step.ms) : failWith(error);
      };
      return source$.pipe(retry({ delay: again$ }), tap({ complete: () => budget.onSuccess() }));
    });
}

/** Emits once, then completes: rxjs `retry` takes a completion without a value for the end of the stream. */
function emitAfter(timers: Timers, ms: number): Observable<unknown> {
  return new Observable((subscriber) =>
    timers.after(ms, () => {
      subscriber.next(undefined);
      subscriber.complete();
    }),
  );
}

/** Like rxjs `throwError`, for what somebody else threw: it need not be an Error. */
function failWith(error: unknown): Observable<never> {
  return new Observable((subscriber) => subscriber.error(error));
}
