/** How wide a {@link Bulkhead} is. */
export interface BulkheadOptions {
  /** Slots; an integer >= 1. A function is asked each time: for a width that moves. */
  readonly limit: number | (() => number);
}

/** Counts calls in flight and refuses above its limit. It queues nobody: who is refused waits elsewhere, holding nothing. */
export class Bulkhead {
  readonly #limit: () => number;
  #inUse = 0;

  /** Throws a RangeError for a number below 1. */
  constructor({ limit }: BulkheadOptions) {
    this.#limit = typeof limit === 'number' ? () => limit : limit;
    if (typeof limit === 'number' && !(Number.isInteger(limit) && limit >= 1)) {
      throw new RangeError(`bulkhead.limit must be an integer >= 1, got ${limit}`);
    }
  }

  /** Slots at present. Where they became fewer, more may be taken for a while. */
  get limit(): number {
    return this.#limit();
  }

  /** Slots taken at present. */
  get inUse(): number {
    return this.#inUse;
  }

  /** Takes a slot, or says `false`. Every slot taken is given back once with `release`. */
  tryAcquire(): boolean {
    if (this.#inUse >= this.limit) return false;
    this.#inUse += 1;
    return true;
  }

  /** Gives a slot back. Throws a RangeError when none is taken: that is a bug of the caller and would widen the limit. */
  release(): void {
    if (this.#inUse === 0) throw new RangeError('bulkhead.release without a slot taken');
    this.#inUse -= 1;
  }
}
