import { BucketTotals } from './bucket-totals.ts';

/** Between which lengths an {@link ElasticWindow} moves, and what it aims at. */
export interface ElasticWindowOptions {
  /** Shortest length in milliseconds; at least two buckets. */
  readonly minMs: number;
  /** Longest length in milliseconds. */
  readonly maxMs: number;
  /** It becomes shorter as long as so many calls remain in it; an integer >= 1. */
  readonly targetCalls: number;
  /** Cells of the longest window; an integer >= 2. */
  readonly buckets: number;
}

/**
 * Counts calls, failures and slow calls of a window that stretches with the traffic: as short as it can be while it holds
 * `targetCalls`, never shorter than `minMs`, never longer than `maxMs`. Under load it forgets within `minMs`, at a call a
 * second it waits for enough of them. A ring of time buckets, O(1) on average, fixed memory.
 *
 * The length moves by whole buckets of `maxMs / buckets`. What it has let go does not come back: it becomes longer as time
 * goes on. The ring turns with the time that is passed in, never backwards.
 */
export class ElasticWindow {
  readonly #widthMs: number;
  readonly #most: number;
  readonly #least: number;
  readonly #targetCalls: number;
  readonly #totals: BucketTotals;
  /** Absolute number of the newest bucket, and how many up to it count. */
  #head = -Infinity;
  #span = 0;

  /** Throws a RangeError for a window that cannot slide. */
  constructor({ minMs, maxMs, targetCalls, buckets }: ElasticWindowOptions) {
    if (!(maxMs > 0 && maxMs < Infinity)) throw new RangeError(`window.maxMs must be > 0, got ${maxMs}`);
    if (!(Number.isInteger(buckets) && buckets >= 2)) {
      throw new RangeError(`window.buckets must be an integer >= 2, got ${buckets}`);
    }
    if (!(Number.isInteger(targetCalls) && targetCalls >= 1)) {
      throw new RangeError(`window.targetCalls must be an integer >= 1, got ${targetCalls}`);
    }
    this.#widthMs = maxMs / buckets;
    if (!(minMs >= 2 * this.#widthMs && minMs <= maxMs)) {
      throw new RangeError(`window.minMs must be from two buckets (${2 * this.#widthMs}) to maxMs, got ${minMs}`);
    }
    this.#most = buckets;
    this.#least = Math.ceil(minMs / this.#widthMs);
    this.#targetCalls = targetCalls;
    this.#totals = new BucketTotals(buckets);
  }

  /** How much time counts at `nowMs`, milliseconds; from nothing, right after the start, to `maxMs`. */
  lengthMs(nowMs: number): number {
    this.#turn(nowMs);
    return this.#span * this.#widthMs;
  }

  /** Adds one finished call at monotonic time `nowMs`. */
  record(nowMs: number, failed: boolean, slow: boolean): void {
    this.#turn(nowMs);
    this.#totals.add(this.#bucket(this.#head), failed, slow);
    this.#shorten();
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
    this.#span = 0;
    this.#head = -Infinity;
  }

  #turn(nowMs: number): void {
    const tick = Math.floor(nowMs / this.#widthMs);
    const steps = tick - this.#head;
    if (steps <= 0) return;
    if (steps >= this.#most) {
      // After a pause of the longest window nothing counts, over all of it; at the start there is no time behind it.
      const startsNow = this.#head === -Infinity;
      this.clear();
      this.#head = tick;
      this.#span = startsNow ? 1 : this.#most;
      return;
    }
    for (let i = 0; i < steps; i++) {
      if (this.#span === this.#most) this.#dropOldest();
      this.#head += 1;
      this.#span += 1;
    }
    this.#shorten();
  }

  #shorten(): void {
    while (this.#span > this.#least && this.#totals.calls - this.#totals.callsIn(this.#oldest()) >= this.#targetCalls) {
      this.#dropOldest();
    }
  }

  #dropOldest(): void {
    this.#totals.drop(this.#oldest());
    this.#span -= 1;
  }

  #oldest(): number {
    return this.#bucket(this.#head - this.#span + 1);
  }

  #bucket(tick: number): number {
    return ((tick % this.#most) + this.#most) % this.#most;
  }
}
