/** Length and memory of an {@link ExactWindow}. */
export interface ExactWindowOptions {
  /** Length of the window in milliseconds; > 0. */
  readonly windowMs: number;
  /** Calls remembered at most, the oldest go first; default 262,144 (2.4 MB), which is 4,000 a second for a minute. */
  readonly maxCalls?: number;
}

const failedBit = 1;
const slowBit = 2;
const firstCapacity = 64;

/**
 * Counts calls, failures and slow calls of the last `windowMs` with the time of each one: a call stops counting exactly when
 * it is `windowMs` old, not one bucket later. Costs nine bytes a call, in a ring that doubles up to `maxCalls`; above that the
 * window becomes shorter, never wrong. A clock that goes back writes at the newest time. Totals are integers: no drift.
 */
export class ExactWindow {
  readonly #windowMs: number;
  readonly #maxCalls: number;
  #times = new Float64Array(firstCapacity);
  #marks = new Uint8Array(firstCapacity);
  #first = 0;
  #calls = 0;
  #failures = 0;
  #slow = 0;
  #newestMs = -Infinity;

  /** Throws a RangeError for a window that cannot slide. */
  constructor({ windowMs, maxCalls = 262_144 }: ExactWindowOptions) {
    if (!(windowMs > 0 && windowMs < Infinity)) throw new RangeError(`window.windowMs must be > 0, got ${windowMs}`);
    if (!(Number.isInteger(maxCalls) && maxCalls >= firstCapacity)) {
      throw new RangeError(`window.maxCalls must be an integer >= ${firstCapacity}, got ${maxCalls}`);
    }
    this.#windowMs = windowMs;
    this.#maxCalls = maxCalls;
  }

  /** How much time counts, milliseconds. */
  lengthMs(): number {
    return this.#windowMs;
  }

  /** Adds one finished call at monotonic time `nowMs`. */
  record(nowMs: number, failed: boolean, slow: boolean): void {
    this.#expire(nowMs);
    if (this.#calls === this.#maxCalls) this.#drop();
    if (this.#calls === this.#times.length) this.#grow();
    const at = (this.#first + this.#calls) % this.#times.length;
    this.#times[at] = this.#newestMs;
    this.#marks[at] = (failed ? failedBit : 0) | (slow ? slowBit : 0);
    this.#calls += 1;
    if (failed) this.#failures += 1;
    if (slow) this.#slow += 1;
  }

  /** Calls in the window that ends at `nowMs`. */
  calls(nowMs: number): number {
    this.#expire(nowMs);
    return this.#calls;
  }

  /** Failed calls in the window that ends at `nowMs`. */
  failures(nowMs: number): number {
    this.#expire(nowMs);
    return this.#failures;
  }

  /** Slow calls in the window that ends at `nowMs`. */
  slow(nowMs: number): number {
    this.#expire(nowMs);
    return this.#slow;
  }

  /** Forgets everything. */
  clear(): void {
    this.#first = 0;
    this.#calls = 0;
    this.#failures = 0;
    this.#slow = 0;
    this.#newestMs = -Infinity;
  }

  #expire(nowMs: number): void {
    if (nowMs > this.#newestMs) this.#newestMs = nowMs;
    const oldestMs = this.#newestMs - this.#windowMs;
    while (this.#calls > 0 && (this.#times[this.#first] ?? 0) <= oldestMs) this.#drop();
  }

  #drop(): void {
    const mark = this.#marks[this.#first] ?? 0;
    if ((mark & failedBit) !== 0) this.#failures -= 1;
    if ((mark & slowBit) !== 0) this.#slow -= 1;
    this.#first = (this.#first + 1) % this.#times.length;
    this.#calls -= 1;
  }

  /** A larger ring with the same calls, the oldest at its start. */
  #grow(): void {
    const [times, marks] = [this.#times, this.#marks];
    const capacity = Math.min(this.#maxCalls, times.length * 2);
    this.#times = new Float64Array(capacity);
    this.#marks = new Uint8Array(capacity);
    this.#times.set(times.subarray(this.#first));
    this.#times.set(times.subarray(0, this.#first), times.length - this.#first);
    this.#marks.set(marks.subarray(this.#first));
    this.#marks.set(marks.subarray(0, this.#first), marks.length - this.#first);
    this.#first = 0;
  }
}
