import { isObservable, type Observable, type Observer, type Unsubscribable } from 'rxjs';

import { follow, light } from './light.ts';

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
  return light((observer) => new Chain(observer, project, ended).start(source$));
}

/** One subscription of a chain: observes its source, and is the handle that stops it. */
class Chain<T, R> implements Observer<T>, Unsubscribable {
  readonly #observer: Observer<R>;
  readonly #project: (value: T) => Observable<R> | R | undefined;
  readonly #ended: (() => void) | undefined;
  #source: Unsubscribable | undefined;
  #stream: Unsubscribable | undefined;
  #answered = false;
  #over = false;

  constructor(
    observer: Observer<R>,
    project: (value: T) => Observable<R> | R | undefined,
    ended: (() => void) | undefined,
  ) {
    this.#observer = observer;
    this.#project = project;
    this.#ended = ended;
  }

  start(source$: Observable<T>): this {
    this.#source = this.#unlessOver(follow(source$, this));
    return this;
  }

  next(value: T): void {
    if (this.#answered || this.#over) return;
    this.#answered = true;
    let outcome: Observable<R> | R | undefined;
    try {
      outcome = this.#project(value);
    } catch (error) {
      this.fail(error);
      return;
    }
    if (isObservable(outcome)) {
      this.#goOn(outcome);
      return;
    }
    if (outcome !== undefined) this.emit(outcome);
    this.finish();
  }

  #goOn(stream$: Observable<R>): void {
    // Unsubscribed by what `project` did: then nothing further may begin.
    if (!this.#over) this.#stream = this.#unlessOver(follow(stream$, new Rest(this)));
  }

  error(error: unknown): void {
    this.fail(error);
  }

  complete(): void {
    if (!this.#answered) this.finish();
  }

  emit(value: R): void {
    if (!this.#over) this.#observer.next(value);
  }

  finish(): void {
    if (this.#over) return;
    this.#over = true;
    this.#observer.complete();
    this.#release();
  }

  fail(error: unknown): void {
    if (this.#over) return;
    this.#over = true;
    this.#observer.error(error);
    this.#release();
  }

  unsubscribe(): void {
    if (this.#over) return;
    this.#over = true;
    this.#release();
  }

  /** What was ended while it began is stopped at once. */
  #unlessOver(handle: Unsubscribable): Unsubscribable | undefined {
    if (!this.#over) return handle;
    handle.unsubscribe();
    return undefined;
  }

  #release(): void {
    this.#ended?.();
    this.#source?.unsubscribe();
    this.#stream?.unsubscribe();
  }
}

/** What comes of the stream that a chain went on with. */
class Rest<R> implements Observer<R> {
  readonly #chain: Chain<never, R>;

  constructor(chain: Chain<never, R>) {
    this.#chain = chain;
  }

  next(value: R): void {
    this.#chain.emit(value);
  }

  error(error: unknown): void {
    this.#chain.fail(error);
  }

  complete(): void {
    this.#chain.finish();
  }
}
