const cell = { calls: 0, failures: 1, slow: 2, size: 3 } as const;

/** Calls, failures and slow calls in a fixed number of time buckets, with their totals. Integers: no drift. O(1), no allocation. */
export class BucketTotals {
  calls = 0;
  failures = 0;
  slow = 0;
  readonly #cells: Uint32Array;

  constructor(buckets: number) {
    this.#cells = new Uint32Array(cell.size * buckets);
  }

  /** Adds one call to a bucket, 0 to `buckets - 1`. */
  add(bucket: number, failed: boolean, slow: boolean): void {
    const base = bucket * cell.size;
    this.calls += 1;
    this.#increment(base + cell.calls);
    if (failed) {
      this.failures += 1;
      this.#increment(base + cell.failures);
    }
    if (slow) {
      this.slow += 1;
      this.#increment(base + cell.slow);
    }
  }

  /** Calls in one bucket. */
  callsIn(bucket: number): number {
    return this.#read(bucket * cell.size + cell.calls);
  }

  /** Empties one bucket. */
  drop(bucket: number): void {
    const base = bucket * cell.size;
    this.calls -= this.#read(base + cell.calls);
    this.failures -= this.#read(base + cell.failures);
    this.slow -= this.#read(base + cell.slow);
    this.#cells.fill(0, base, base + cell.size);
  }

  /** Empties all of them. */
  clear(): void {
    this.#cells.fill(0);
    this.calls = 0;
    this.failures = 0;
    this.slow = 0;
  }

  #read(index: number): number {
    return this.#cells[index] ?? 0;
  }

  #increment(index: number): void {
    this.#cells[index] = this.#read(index) + 1;
  }
}
