import { Walk } from './walk.ts';

// Looking at a few old keys for each new one keeps the cost of a new key constant, however many are active.
const lookedAt = 8;

/**
 * Until when keys must rest. A cool-down is only ever extended. Bounded: from `max` keys on, those that are over make
 * room; an active one is never dropped, for that would overrun the quota it stands for. Times are monotonic milliseconds.
 */
export class CoolDowns {
  readonly #max: number;
  readonly #untilMs = new Map<string, number>();
  readonly #walk = new Walk(this.#untilMs);
  #seenMs = -Infinity;

  /** @param max keys kept without need; default 10,000 */
  constructor(max = 10_000) {
    this.#max = max;
  }

  /** Lets a key rest until `untilMs`, or longer if it already does. */
  hold(key: string, untilMs: number): void {
    const known = this.#untilMs.get(key);
    if (known !== undefined && untilMs <= known) return;
    if (known === undefined && this.#untilMs.size >= this.#max) this.#makeRoom();
    this.#untilMs.set(key, untilMs);
  }

  /** Until when the key rests, or 0 when it does not. */
  untilMs(key: string, nowMs: number): number {
    this.#seenMs = nowMs;
    const untilMs = this.#untilMs.get(key);
    return untilMs === undefined || untilMs <= nowMs ? 0 : untilMs;
  }

  /** Keys remembered, active or not. */
  get size(): number {
    return this.#untilMs.size;
  }

  /** Keys that rest at `nowMs`. Walks all of them: for metrics. */
  active(nowMs: number): number {
    let active = 0;
    for (const untilMs of this.#untilMs.values()) if (untilMs > nowMs) active += 1;
    return active;
  }

  #makeRoom(): void {
    for (let looked = 0; looked < lookedAt; looked++) {
      const [key, untilMs = Infinity] = this.#walk.next() ?? [];
      if (key !== undefined && untilMs <= this.#seenMs) this.#untilMs.delete(key);
    }
  }
}
