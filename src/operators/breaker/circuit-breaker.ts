import { defer, finalize, type MonoTypeOperatorFunction, tap, throwError } from 'rxjs';

import type { Clock } from '../../ports/clock.ts';

import type { Breaker } from './breaker.ts';

/** The first thing that came of an attempt. */
export type AttemptEnding<T> =
  | { readonly kind: 'value'; readonly value: T }
  | { readonly kind: 'error'; readonly error: unknown }
  | { readonly kind: 'complete' };

/** How {@link adaptiveBreaker} judges attempts. */
export interface AdaptiveBreakerOptions<T> {
  readonly clock: Clock;
  /** Whether the upstream looks sick. Default: every error. */
  readonly isFailure?: (ending: AttemptEnding<T>) => boolean;
  /** Endings that say nothing about the upstream, e.g. a rate limit; asked first. Default: none. */
  readonly isNeutral?: (ending: AttemptEnding<T>) => boolean;
}

/** The breaker let no call through; asking again is worth while at `untilMs` on the same clock. */
export class BreakerOpenError extends Error {
  readonly untilMs: number;

  constructor(untilMs: number) {
    super(`the circuit breaker is open until ${Math.ceil(untilMs)} ms (monotonic)`);
    this.name = 'BreakerOpenError';
    this.untilMs = untilMs;
  }
}

/**
 * Guards one attempt per subscription with a breaker. The permit is taken at subscription, synchronously before the
 * source is subscribed to, and ended exactly once: by the first value, the error or the completion, whichever comes
 * first; unsubscribing before that releases it unjudged.
 *
 * Passes the source through unchanged. A refusal is an error of class {@link BreakerOpenError}, so that it ends in the
 * place where the attempt's own error would; the source is then not subscribed to and nothing is recorded.
 */
export function adaptiveBreaker<T>(
  breaker: Breaker,
  { clock, isFailure = isError, isNeutral = never }: AdaptiveBreakerOptions<T>,
): MonoTypeOperatorFunction<T> {
  return (attempt$) =>
    defer(() => {
      const startedMs = clock.now();
      const permit = breaker.acquire(startedMs);
      if (permit.kind === 'refused') return throwError(() => new BreakerOpenError(permit.untilMs));

      const end = (ending: AttemptEnding<T>): void => {
        if (permit.ended) return;
        const nowMs = clock.now();
        if (isNeutral(ending)) breaker.release(permit);
        else breaker.record(permit, nowMs, isFailure(ending), nowMs - startedMs);
      };
      return attempt$.pipe(
        tap({
          next: (value) => end({ kind: 'value', value }),
          error: (error: unknown) => end({ kind: 'error', error }),
          complete: () => end({ kind: 'complete' }),
        }),
        // A second ending changes nothing; this one is for unsubscribing.
        finalize(() => breaker.release(permit)),
      );
    });
}

function isError(ending: AttemptEnding<unknown>): boolean {
  return ending.kind === 'error';
}

function never(): boolean {
  return false;
}
