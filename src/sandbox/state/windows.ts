/** Counts arrivals in the last `windowMs` exactly, and remembers the most there ever were at once. */
export class ArrivalGauge {
  readonly #windowMs: number;
  #times = new Float64Array(64);
  #head = 0;
  #count = 0;
  #max = 0;

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  /** The most arrivals in any window (t - windowMs, t]. */
  get max(): number {
    return this.#max;
  }

  arrive(nowMs: number): void {
    const oldestMs = nowMs - this.#windowMs;
    while (this.#count > 0 && (this.#times[this.#head] ?? 0) <= oldestMs) {
      this.#head = (this.#head + 1) & (this.#times.length - 1);
      this.#count--;
    }
    if (this.#count === this.#times.length) this.#grow();
    this.#times[(this.#head + this.#count) & (this.#times.length - 1)] = nowMs;
    this.#count++;
    if (this.#count > this.#max) this.#max = this.#count;
  }

  #grow(): void {
    const larger = new Float64Array(this.#times.length * 2);
    for (let i = 0; i < this.#count; i++) larger[i] = this.#times[(this.#head + i) & (this.#times.length - 1)] ?? 0;
    this.#times = larger;
    this.#head = 0;
  }
}

/** One window of a tier: at most `limit` in `windowMs`. */
export interface WindowLimit {
  readonly limit: number;
  readonly windowMs: number;
}

/** Decides whether one more call fits a window. `waitMs` is 0 when it does, else the time until it will. */
export interface Window {
  readonly limit: number;
  waitMs(nowMs: number): number;
  take(nowMs: number): void;
  /** The same window with another limit: what was granted still counts. */
  withLimit(limit: number): Window;
}

/** At most `limit` in any stretch of `windowMs`: a ring of the last grants, O(1). */
export class SlidingWindow implements Window {
  readonly limit: number;
  readonly #windowMs: number;
  readonly #grants: Float64Array;
  #next = 0;

  /** @param older grants before, oldest first */
  constructor({ limit, windowMs }: WindowLimit, older: Float64Array = new Float64Array(0)) {
    this.limit = limit;
    this.#windowMs = windowMs;
    // As long as the highest limit there was: a limit that is lowered and raised again has forgotten nothing.
    this.#grants = new Float64Array(Math.max(limit, older.length)).fill(-Infinity);
    this.#grants.set(older, this.#grants.length - older.length);
  }

  waitMs(nowMs: number): number {
    const { length } = this.#grants;
    return Math.max(
      0,
      (this.#grants[(this.#next + length - this.limit) % length] ?? Infinity) + this.#windowMs - nowMs,
    );
  }

  take(nowMs: number): void {
    this.#grants[this.#next] = nowMs;
    this.#next = (this.#next + 1) % this.#grants.length;
  }

  withLimit(limit: number): SlidingWindow {
    const oldestFirst = new Float64Array(this.#grants.length);
    oldestFirst.set(this.#grants.subarray(this.#next));
    oldestFirst.set(this.#grants.subarray(0, this.#next), this.#grants.length - this.#next);
    return new SlidingWindow({ limit, windowMs: this.#windowMs }, oldestFirst);
  }
}

/** At most `limit` between two multiples of `windowMs`, which lets twice as many through around a boundary. */
export class FixedWindow implements Window {
  readonly limit: number;
  readonly #windowMs: number;
  #index = -1;
  #used = 0;

  constructor({ limit, windowMs }: WindowLimit) {
    this.limit = limit;
    this.#windowMs = windowMs;
  }

  waitMs(nowMs: number): number {
    const index = Math.floor(nowMs / this.#windowMs);
    if (index !== this.#index || this.#used < this.limit) return 0;
    return (index + 1) * this.#windowMs - nowMs;
  }

  take(nowMs: number): void {
    const index = Math.floor(nowMs / this.#windowMs);
    if (index !== this.#index) {
      this.#index = index;
      this.#used = 0;
    }
    this.#used++;
  }

  withLimit(limit: number): FixedWindow {
    const window = new FixedWindow({ limit, windowMs: this.#windowMs });
    window.#index = this.#index;
    window.#used = this.#used;
    return window;
  }
}
