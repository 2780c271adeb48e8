import {
  isObservable,
  Observable,
  type Observer,
  type OperatorFunction,
  type Subscriber,
  type Unsubscribable,
} from 'rxjs';

import { follow } from '../interop/light.ts';
import { subscribeWithin } from '../interop/subscribe-within.ts';

/** What a stage makes of an item: a value at once, nothing at all, or a stream whose `undefined` values count as nothing. */
export type Outcome<R> = Observable<R | undefined> | R | undefined;

/**
 * Starts each item's work at once and merges what it emits: for stages whose concurrency an earlier one bounds by turns or
 * slots. Queues nothing, and the stack stays flat however many inners end synchronously.
 *
 * `mergeMap` without a limit does the same for more: a value that is there already needs no stream here, and an inner costs
 * one small object instead of a subscriber with its closures (measured: half of the pipeline's allocations).
 *
 * Completes when the source and all inners have. An inner error ends the stream, so inners end in an outcome value.
 * Unsubscribing unsubscribes from all inners.
 */
export function eachOf<T, R>(project: (item: T) => Outcome<R>): OperatorFunction<T, R> {
  return (source$) =>
    new Observable<R>((subscriber) => {
      const merging = new Merging(subscriber);
      subscribeWithin(subscriber, source$, {
        next: (item) => {
          let outcome: Outcome<R>;
          try {
            outcome = project(item);
          } catch (error) {
            subscriber.error(error);
            return;
          }
          if (isObservable(outcome)) merging.start(outcome);
          else if (outcome !== undefined) subscriber.next(outcome);
        },
        error: (error: unknown) => subscriber.error(error),
        complete: () => merging.sourceEnded(),
      });
      // After the source: what an inner frees when it is stopped must start nothing new.
      subscriber.add(() => merging.stop());
    });
}

/** The inners of one subscription. */
class Merging<R> {
  readonly subscriber: Subscriber<R>;
  #running: Inner<R>[] = [];
  #sourceIsDone = false;

  constructor(subscriber: Subscriber<R>) {
    this.subscriber = subscriber;
  }

  start(inner$: Observable<R | undefined>): void {
    const inner = new Inner(this, this.#running.length);
    this.#running.push(inner);
    const handle = follow(inner$, inner);
    // Ended or stopped by what the inner emitted while it was being subscribed to.
    if (inner.place < 0) handle.unsubscribe();
    else inner.handle = handle;
  }

  ended(inner: Inner<R>): void {
    const { place } = inner;
    if (place < 0) return;
    inner.place = -1;
    const last = this.#running.pop();
    if (last !== undefined && last !== inner) {
      this.#running[place] = last;
      last.place = place;
    }
    this.#completeWhenIdle();
  }

  sourceEnded(): void {
    this.#sourceIsDone = true;
    this.#completeWhenIdle();
  }

  stop(): void {
    const stopped = this.#running;
    this.#running = [];
    for (const inner of stopped) inner.place = -1;
    for (const { handle } of stopped) handle?.unsubscribe();
  }

  #completeWhenIdle(): void {
    if (this.#sourceIsDone && this.#running.length === 0) this.subscriber.complete();
  }
}

class Inner<R> implements Observer<R | undefined> {
  readonly #merging: Merging<R>;
  handle: Unsubscribable | undefined;
  /** Index among those that run; negative once it has ended or was stopped. */
  place: number;

  constructor(merging: Merging<R>, place: number) {
    this.#merging = merging;
    this.place = place;
  }

  next(value: R | undefined): void {
    if (value !== undefined && this.place >= 0) this.#merging.subscriber.next(value);
  }

  error(error: unknown): void {
    if (this.place >= 0) this.#merging.subscriber.error(error);
  }

  complete(): void {
    this.#merging.ended(this);
  }
}
