import type { RateWindow } from '../../ports/profile.ts';

/**
 * Exact sliding log: no half-open window of any of its lengths ever holds more than its limit of grants. One ring of the
 * last grant times serves all windows; a window with limit N only looks at the N-th last. O(windows) per question,
 * 8 bytes per grant of the largest limit. Times are monotonic milliseconds and must not go back by more than they wait.
 */
export class ExactLog {
  readonly #windows: readonly RateWindow[];
  readonly #grants: Float64Array;
  /** Where the next grant goes; the one before it is the newest. */
  #next = 0;

  /** Throws a RangeError for a limit that is not an integer >= 1 or a length that is not > 0. No window: no limit. */
  constructor(windows: readonly RateWindow[]) {
    for (const { limit, windowMs } of windows) {
      if (!(Number.isInteger(limit) && limit >= 1)) throw new RangeError(`limit must be an integer >= 1, got ${limit}`);
      if (!(windowMs > 0 && windowMs < Infinity)) throw new RangeError(`windowMs must be > 0, got ${windowMs}`);
    }
    this.#windows = windows;
    this.#grants = new Float64Array(Math.max(1, ...windows.map(({ limit }) => limit))).fill(-Infinity);
  }

  /**
   * When a grant may be had at the earliest: `nowMs`, or later.
   * @param ahead grants that others were promised and will take first. Exact for 0 and for a single window, else a lower
   * bound: ask again then.
   * @param windows stricter ones to judge by instead of its own: no limit above the largest of those
   */
  freeAtMs(nowMs: number, ahead = 0, windows = this.#windows): number {
    let atMs = nowMs;
    for (const { limit, windowMs } of windows) {
      // Promised grants beyond the limit wait for one another: one window length for each full round.
      const fullRounds = Math.floor(ahead / limit);
      const freeMs = Math.max(nowMs, this.#last(limit - (ahead % limit)) + windowMs) + windowMs * fullRounds;
      if (freeMs > atMs) atMs = freeMs;
    }
    return atMs;
  }

  /** Milliseconds until {@link freeAtMs}; 0 when a grant may be had now. */
  waitMs(nowMs: number, ahead = 0): number {
    return this.freeAtMs(nowMs, ahead) - nowMs;
  }

  /** Takes a grant, or says `false` and changes nothing. */
  take(nowMs: number): boolean {
    for (const { limit, windowMs } of this.#windows) if (this.#last(limit) + windowMs > nowMs) return false;
    this.#push(nowMs);
    return true;
  }

  /** Writes down a grant that somebody else decided on, whether it fits or not. */
  note(nowMs: number): void {
    this.#push(nowMs);
  }

  /** Times of the grants it remembers from `sinceMs` on, oldest first. */
  since(sinceMs: number): number[] {
    const times: number[] = [];
    for (let age = 1; age <= this.#grants.length && this.#last(age) >= sinceMs; age++) times.push(this.#last(age));
    return times.reverse();
  }

  /** Gives back a grant that was not used, named by the time it was taken at; unknown times are ignored. */
  giveBack(takenAtMs: number): void {
    const { length } = this.#grants;
    for (let age = 1; age <= length && this.#last(age) >= takenAtMs; age++) {
      if (this.#last(age) !== takenAtMs) continue;
      // Those granted later move down by one: to drop the newest instead would make their starts look older.
      for (; age > 1; age--) this.#grants[this.#slot(age)] = this.#last(age - 1);
      this.#next = this.#slot(1);
      this.#grants[this.#next] = -Infinity;
      return;
    }
  }

  /** Whether nothing it remembers matters any longer: a new log would answer the same. */
  idle(nowMs: number): boolean {
    return this.#windows.every(({ windowMs }) => this.#last(1) + windowMs <= nowMs);
  }

  /** A log with other windows that remembers the same grants, as many as they need. */
  reshaped(windows: readonly RateWindow[]): ExactLog {
    const log = new ExactLog(windows);
    for (let age = Math.min(this.#grants.length, log.#grants.length); age >= 1; age--) log.#push(this.#last(age));
    return log;
  }

  #push(atMs: number): void {
    this.#grants[this.#next] = atMs;
    this.#next = this.#next + 1 === this.#grants.length ? 0 : this.#next + 1;
  }

  /** The time of the `age`-th last grant, 1 for the newest. */
  #last(age: number): number {
    return this.#grants[this.#slot(age)] ?? -Infinity;
  }

  #slot(age: number): number {
    const index = this.#next - age;
    return index < 0 ? index + this.#grants.length : index;
  }
}
