/** Good and bad events. */
export interface Counts {
  readonly good: number;
  readonly bad: number;
}

/** Counts events in a row of time cells; what is older than all of them is forgotten, so it stays as small as it began. */
export class CountRing {
  readonly #cellMs: number;
  readonly #stamps: Float64Array;
  readonly #good: Float64Array;
  readonly #bad: Float64Array;

  /** @param cells 1 or more */
  constructor(cellMs: number, cells: number) {
    this.#cellMs = cellMs;
    this.#stamps = new Float64Array(cells).fill(-1);
    this.#good = new Float64Array(cells);
    this.#bad = new Float64Array(cells);
  }

  add(nowMs: number, { good, bad }: Counts): void {
    const stamp = Math.floor(nowMs / this.#cellMs);
    const cell = stamp % this.#stamps.length;
    if (this.#stamps[cell] !== stamp) {
      this.#stamps[cell] = stamp;
      this.#good[cell] = 0;
      this.#bad[cell] = 0;
    }
    this.#good[cell] = (this.#good[cell] ?? 0) + good;
    this.#bad[cell] = (this.#bad[cell] ?? 0) + bad;
  }

  /** What came within the last `spanMs`, to the width of a cell: the cell under way and as many whole ones as fit. */
  within(nowMs: number, spanMs: number): Counts {
    const newest = Math.floor(nowMs / this.#cellMs);
    const oldest = newest - Math.max(0, Math.floor(spanMs / this.#cellMs) - 1);
    let [good, bad] = [0, 0];
    for (const [cell, stamp] of this.#stamps.entries()) {
      if (stamp < oldest || stamp > newest) continue;
      good += this.#good[cell] ?? 0;
      bad += this.#bad[cell] ?? 0;
    }
    return { good, bad };
  }
}
