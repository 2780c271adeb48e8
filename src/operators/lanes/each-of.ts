import { mergeMap, type Observable, type OperatorFunction } from 'rxjs';

/**
 * Starts each item's work at once and merges what it emits: for stages whose concurrency an earlier one bounds by turns or
 * slots. Queues nothing. Without a limit `mergeMap` has neither of the faults that ban it elsewhere, the buffer above the
 * limit and the recursion that drains it: the stack stays flat however many inners end synchronously.
 *
 * Completes when the source and all inners have. An inner error ends the stream, so inners end in an outcome value.
 * Unsubscribing unsubscribes from all inners.
 */
// eslint-disable-next-line rxjs-x/finnish -- a function, not a stream
export function eachOf<T, R>(project: (item: T) => Observable<R>): OperatorFunction<T, R> {
  return mergeMap((item) => project(item));
}
