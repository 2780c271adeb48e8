import { isObservable, Observable, type Observer, type Subscriber } from 'rxjs';

/**
 * Goes on from a source of one value: emits what `project` makes of it, a value or a stream; nothing for `undefined`.
 * A source that ends without a value completes the chain. Errors of either pass through; unsubscribing cancels whichever is
 * under way. Lighter than `mergeMap` and `map`, which are made for many.
 *
 * @param ended called once when the chain has ended, in whichever way: completed, failed or unsubscribed
 */
export function andThen<T, R>(
  source$: Observable<T>,
  project: (value: T) => Observable<R> | R | undefined,
  ended?: () => void,
): Observable<R> {
  return new Observable<R>((subscriber) => {
    if (ended !== undefined) subscriber.add(ended);
    return source$.subscribe(new Step(subscriber, project));
  });
}

class Step<T, R> implements Observer<T> {
  readonly #subscriber: Subscriber<R>;
  readonly #project: (value: T) => Observable<R> | R | undefined;
  #answered = false;

  constructor(subscriber: Subscriber<R>, project: (value: T) => Observable<R> | R | undefined) {
    this.#subscriber = subscriber;
    this.#project = project;
  }

  next(value: T): void {
    if (this.#answered) return;
    this.#answered = true;
    const subscriber = this.#subscriber;
    try {
      const outcome = this.#project(value);
      if (isObservable(outcome)) {
        outcome.subscribe(subscriber);
        return;
      }
      if (outcome !== undefined) subscriber.next(outcome);
      subscriber.complete();
    } catch (error) {
      subscriber.error(error);
    }
  }

  error(error: unknown): void {
    this.#subscriber.error(error);
  }

  complete(): void {
    if (!this.#answered) this.#subscriber.complete();
  }
}
