import { BucketTotals } from './bucket-totals.ts';

/** Width and resolution of a {@link SlidingWindow}. */
export interface SlidingWindowOptions {
  /** Length of the window in milliseconds; > 0. */
  readonly windowMs: number;
  /** Cells of the ring; an integer >= 2, because a ring of one forgets everything at each turn. */
  readonly buckets: number;
}

/**
 * Counts calls, failures and slow calls of the last `windowMs` in a ring of time buckets: O(1) time, fixed memory.
 *
 * A call stops counting between `windowMs - windowMs / buckets` and `windowMs` after it was recorded, never later.
 * The ring turns with the time that is passed in, for readers too, so a reader after a pause sees no stale totals.
 * A clock that goes back writes into the newest bucket; the ring never turns backwards. Totals are integers: no drift.
 */
export class SlidingWindow {
  readonly #widthMs: number;
  readonly #buckets: number;
  readonly #totals: BucketTotals;
  #at = 0;
  #head = -Infinity;

  /** Throws a RangeError for a window that cannot slide. */
  constructor({ windowMs, buckets }: SlidingWindowOptions) {
    if (!(windowMs > 0 && windowMs < Infinity)) throw new RangeError(`window.windowMs must be > 0, got ${windowMs}`);
    if (!(Number.isInteger(buckets) && buckets >= 2)) {
      throw new RangeError(`window.buckets must be an integer >= 2, got ${buckets}`);
    }
    this.#widthMs = windowMs / buckets;
    this.#buckets = buckets;
    this.#totals = new BucketTotals(buckets);
  }

  /** How much time counts, milliseconds. */
  lengthMs(): number {
    return this.#widthMs * this.#buckets;
  }

  /** Adds one finished call at monotonic time `nowMs`. */
  record(nowMs: number, failed: boolean, slow: boolean): void {
    this.#turn(nowMs);
    this.#totals.add(this.#at, failed, slow);
  }

  /** Calls in the window that ends at `nowMs`. */
  calls(nowMs: number): number {
    this.#turn(nowMs);
    return this.#totals.calls;
  }

  /** Failed calls in the window that ends at `nowMs`. */
  failures(nowMs: number): number {
    this.#turn(nowMs);
    return this.#totals.failures;
  }

  /** Slow calls in the window that ends at `nowMs`. */
  slow(nowMs: number): number {
    this.#turn(nowMs);
    return this.#totals.slow;
  }

  /** Forgets everything. */
  clear(): void {
    this.#totals.clear();
    this.#head = -Infinity;
  }

  #turn(nowMs: number): void {
    const tick = Math.floor(nowMs / this.#widthMs);
    const steps = tick - this.#head;
    if (steps <= 0) return;
    if (steps >= this.#buckets) this.clear();
    else for (let i = 0; i < steps; i++) this.#advance();
    this.#head = tick;
  }

  #advance(): void {
    this.#at = this.#at + 1 === this.#buckets ? 0 : this.#at + 1;
    this.#totals.drop(this.#at);
  }
}
