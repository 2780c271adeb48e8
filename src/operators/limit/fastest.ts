const periodMs = 30_000;

/** The fastest of the round trips of the last half or whole minute: what a path takes when nothing is in its way. */
export class Fastest {
  #currentMs = Infinity;
  #beforeMs = Infinity;
  #sinceMs = -Infinity;

  /** Notes one more; the fastest so far, this one included. */
  fastestMs(nowMs: number, tookMs: number): number {
    if (nowMs - this.#sinceMs >= periodMs) {
      // A path that has become slower is believed after a while, or nothing would ever be in time again.
      this.#beforeMs = nowMs - this.#sinceMs < 2 * periodMs ? this.#currentMs : Infinity;
      this.#currentMs = Infinity;
      this.#sinceMs = nowMs;
    }
    this.#currentMs = Math.min(this.#currentMs, tookMs);
    return Math.min(this.#currentMs, this.#beforeMs);
  }
}
