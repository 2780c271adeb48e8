// A late timer is made up for within this much, so that the rate holds on a busy machine.
const burstMs = 100;

/** An even rate: starts are spread, not bunched. Times are monotonic milliseconds. */
export class Pace {
  readonly #everyMs: number;
  #nextMs = -Infinity;

  /** @param perSecond starts a second, > 0; `Infinity`: as fast as it goes */
  constructor(perSecond: number) {
    if (!(perSecond > 0)) throw new RangeError(`perSecond must be > 0, got ${perSecond}`);
    this.#everyMs = 1_000 / perSecond;
  }

  /** Milliseconds until the next start; 0: now. */
  waitMs(nowMs: number): number {
    return Math.max(0, this.#nextMs - nowMs);
  }

  /** Takes a start. */
  take(nowMs: number): void {
    this.#nextMs = Math.max(this.#nextMs, nowMs - burstMs) + this.#everyMs;
  }
}
