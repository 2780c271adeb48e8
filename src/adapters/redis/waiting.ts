import type { Observable, Observer, Unsubscribable } from 'rxjs';

import { follow } from '../../operators/interop/light.ts';

/** Somebody who may be answered from here. */
export interface AnsweredHere {
  /** Gives the answer from here, where there is one; `false`: there is none. */
  answerHere(): boolean;
}

/** Somebody who waits for the store's answer, or for the one from here. */
export class Waiting<A> implements AnsweredHere, Observer<A>, Unsubscribable {
  readonly #all: Set<AnsweredHere>;
  readonly #here: () => A | undefined;
  readonly #observer: Observer<A>;
  readonly #answered: ((answer: A) => void) | undefined;
  #asked: Unsubscribable | undefined;
  #over = false;

  /** @param answered told of the store's answer, before it is handed on */
  constructor(
    all: Set<AnsweredHere>,
    here: () => A | undefined,
    observer: Observer<A>,
    answered: ((answer: A) => void) | undefined,
  ) {
    this.#all = all;
    this.#here = here;
    this.#observer = observer;
    this.#answered = answered;
  }

  ask(asked$: Observable<A>): this {
    const asked = follow(asked$, this);
    if (this.#over) asked.unsubscribe();
    else this.#asked = asked;
    return this;
  }

  answerHere(): boolean {
    if (this.#over) return true;
    const answer = this.#here();
    if (answer === undefined) return false;
    this.#observer.next(answer);
    this.complete();
    return true;
  }

  next(answer: A): void {
    this.#answered?.(answer);
    this.#observer.next(answer);
  }

  error(error: unknown): void {
    if (this.#over) return;
    this.unsubscribe();
    this.#observer.error(error);
  }

  complete(): void {
    if (this.#over) return;
    this.unsubscribe();
    this.#observer.complete();
  }

  unsubscribe(): void {
    if (this.#over) return;
    this.#over = true;
    this.#all.delete(this);
    this.#asked?.unsubscribe();
  }
}
