import { defer, finalize, type Observable, type OperatorFunction } from 'rxjs';

import { LarkspurError } from '../../model/errors.ts';
import { Demand } from '../demand.ts';
import { emitOnDemand } from '../ring/ring-buffer.ts';
import { Ring } from '../ring/ring.ts';

import { eachOf } from './each-of.ts';

/** What may be set for {@link mergeMapBounded}. */
export interface MergeMapBoundedOptions {
  /** Inners at once; an integer >= 1. */
  readonly concurrency: number;
  /** Items that wait for one of them; an integer >= 1, rounded up to a power of two. */
  readonly buffer: number;
  /** Towards the source: asks for `concurrency + buffer` items, then for one with every inner that ends. */
  readonly demand?: Demand;
}

/**
 * `mergeMap` with a bounded buffer and a loop instead of recursion: 20,000 inners that end synchronously neither overflow
 * the stack nor hang. Items start in the order they came.
 *
 * Completes when the source and all inners have. Errors with the source, with an inner, with what `project` throws, and
 * with `internal` when a source without demand overflows the buffer: nothing is dropped silently. Unsubscribing
 * unsubscribes from all inners and forgets what is buffered.
 */
export function mergeMapBounded<T, R>(
  project: (item: T) => Observable<R>,
  { concurrency, buffer, demand }: MergeMapBoundedOptions,
): OperatorFunction<T, R> {
  if (!(Number.isInteger(concurrency) && concurrency >= 1)) {
    throw new RangeError(`mergeMapBounded.concurrency must be an integer >= 1, got ${concurrency}`);
  }
  return (source$) =>
    defer(() => {
      const ring = new Ring<T>(buffer);
      const slots = new Demand();
      const put = (item: T): void => {
        if (ring.push(item)) return;
        throw new LarkspurError('internal', `mergeMapBounded: more than ${ring.capacity} items wait`, {
          cure: 'Give the source a demand, or raise the buffer.',
        });
      };
      const free = (): void => {
        slots.request(1);
        demand?.request(1);
      };
      slots.request(concurrency);
      // An earlier subscription may have left a part of it unanswered.
      demand?.request(Math.max(0, concurrency + buffer - demand.outstanding));
      return source$.pipe(
        emitOnDemand(ring, put, slots),
        eachOf((item) => project(item).pipe(finalize(free))),
      );
    });
}
