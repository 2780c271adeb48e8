/** Width and resolution of a {@link SlidingWindow}. */
export interface SlidingWindowOptions {
  /** Length of the window in milliseconds; > 0. */
  readonly windowMs: number;
  /** Cells of the ring; an integer >= 2, because a ring of one forgets everything at each turn. */
  readonly buckets: number;
}

const cell = { calls: 0, failures: 1, slow: 2, size: 3 } as const;

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
  readonly #cells: Uint32Array;
  #at = 0;
  #head = -Infinity;
  #calls = 0;
  #failures = 0;
  #slow = 0;

  /** Throws a RangeError for a window that cannot slide. */
  constructor({ windowMs, buckets }: SlidingWindowOptions) {
    if (!(windowMs > 0 && windowMs < Infinity)) throw new RangeError(`window.windowMs must be > 0, got ${windowMs}`);
    if (!(Number.isInteger(buckets) && buckets >= 2)) {
      throw new RangeError(`window.buckets must be an integer >= 2, got ${buckets}`);
    }
    this.#widthMs = windowMs / buckets;
    this.#buckets = buckets;
    this.#cells = new Uint32Array(cell.size * buckets);
  }

  /** Adds one finished call at monotonic time `nowMs`. */
  record(nowMs: number, failed: boolean, slow: boolean): void {
    this.#turn(nowMs);
    const base = this.#at * cell.size;
    this.#calls += 1;
    this.#add(base + cell.calls, 1);
    if (failed) {
      this.#failures += 1;
      this.#add(base + cell.failures, 1);
    }
    if (slow) {
      this.#slow += 1;
      this.#add(base + cell.slow, 1);
    }
  }

  /** Calls in the window that ends at `nowMs`. */
  calls(nowMs: number): number {
    this.#turn(nowMs);
    return this.#calls;
  }

  /** Failed calls in the window that ends at `nowMs`. */
  failures(nowMs: number): number {
    this.#turn(nowMs);
    return this.#failures;
  }

  /** Slow calls in the window that ends at `nowMs`. */
  slow(nowMs: number): number {
    this.#turn(nowMs);
    return this.#slow;
  }

  /** Forgets everything. */
  clear(): void {
    this.#cells.fill(0);
    this.#calls = 0;
    this.#failures = 0;
    this.#slow = 0;
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
    const base = this.#at * cell.size;
    this.#calls -= this.#read(base + cell.calls);
    this.#failures -= this.#read(base + cell.failures);
    this.#slow -= this.#read(base + cell.slow);
    this.#cells.fill(0, base, base + cell.size);
  }

  #read(index: number): number {
    return this.#cells[index] ?? 0;
  }

  #add(index: number, by: number): void {
    this.#cells[index] = this.#read(index) + by;
  }
}
