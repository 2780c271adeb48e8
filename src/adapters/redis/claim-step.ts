import type { Observer, Unsubscribable } from 'rxjs';

import type { BatchedStep, ReplyReader } from './step-batches.ts';

/** How a step is read, and who waits for it. */
export interface Asking<A> {
  /** Bytes of the large arguments. */
  readonly bytes: number;
  readonly read: (reply: ReplyReader) => A;
  readonly observer: Observer<A>;
  /** Told of an answer for which nobody waits any more. */
  readonly unwanted?: (answer: A) => void;
}

/** One question to the script of claims. To unsubscribe drops it when it was not sent yet, else its answer. */
export class ClaimStep<A> implements BatchedStep, Unsubscribable {
  readonly key: string;
  readonly tag: string;
  readonly args: readonly (string | number)[];
  dropped = false;
  unanswered = false;
  readonly #asking: Asking<A>;

  constructor(key: string, tag: string, args: readonly (string | number)[], asking: Asking<A>) {
    this.key = key;
    this.tag = tag;
    this.args = args;
    this.#asking = asking;
  }

  get bytes(): number {
    return this.#asking.bytes;
  }

  answer(reply: ReplyReader): void {
    const { read, observer, unwanted } = this.#asking;
    const answer = read(reply);
    if (this.dropped) {
      unwanted?.(answer);
      return;
    }
    observer.next(answer);
    observer.complete();
  }

  unsubscribe(): void {
    this.dropped = true;
  }
}
