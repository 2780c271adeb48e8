const windowSeconds = 10;
// Where nothing says what is allowed, so long is watched before anything is concluded.
const firstLookSeconds = 5;

/**
 * How many items of a flow end per second: counted over the last ten seconds, and as long as it was not watched so long
 * filled up with what its limits allow. Reads no clock; times are monotonic milliseconds.
 */
export class Pace {
  readonly #perSecond = new Float64Array(windowSeconds);
  readonly #sinceMs: number;
  readonly #allowed: number | undefined;
  #second: number;
  #lastEndedMs: number;
  #peak = 0;

  /** @param allowed per second; `undefined`: nobody knows */
  constructor(nowMs: number, allowed: number | undefined) {
    this.#sinceMs = nowMs;
    this.#lastEndedMs = nowMs;
    this.#allowed = allowed;
    this.#second = Math.floor(nowMs / 1_000);
  }

  /** An item ended. */
  ended(nowMs: number): void {
    this.#roll(nowMs);
    this.#lastEndedMs = nowMs;
    const cell = this.#second % windowSeconds;
    this.#perSecond[cell] = (this.#perSecond[cell] ?? 0) + 1;
  }

  /** Items per second at present; `Infinity` as long as nobody can say. */
  now(nowMs: number): number {
    this.#roll(nowMs);
    const watchedSeconds = (nowMs - this.#sinceMs) / 1_000;
    const ended = this.#perSecond.reduce((sum, one) => sum + one, 0);
    if (watchedSeconds < windowSeconds) {
      if (this.#allowed !== undefined) {
        return (ended + this.#allowed * (windowSeconds - watchedSeconds)) / windowSeconds;
      }
      if (watchedSeconds < firstLookSeconds) return Infinity;
    }
    const rate = ended / Math.min(watchedSeconds, windowSeconds - 1 + (nowMs % 1_000) / 1_000);
    this.#peak = Math.max(this.#peak, rate);
    return rate;
  }

  /** What it may be at any time: what its limits allow, else the most that it has been; 0: nothing has ended yet. */
  most(nowMs: number): number {
    if (this.#allowed !== undefined) return this.#allowed;
    const rate = this.now(nowMs);
    return rate === Infinity ? rate : this.#peak;
  }

  /** For how long nothing has ended, as far as it was watched. */
  sinceEndedMs(nowMs: number): number {
    return nowMs - this.#lastEndedMs;
  }

  #roll(nowMs: number): void {
    const second = Math.floor(nowMs / 1_000);
    const passed = Math.min(second - this.#second, windowSeconds);
    for (let n = 1; n <= passed; n++) this.#perSecond[(this.#second + n) % windowSeconds] = 0;
    if (passed > 0) this.#second = second;
  }
}
