/** Most records of one partition that may stand between the first unfinished one and the newest taken one. */
export const trackerCapacity = 8_192;

/**
 * What of one partition is done, so that a commit never passes an unfinished record.
 *
 * Records are taken in offset order (the log may have holes) and end in any order. Memory is fixed: a ring of
 * `capacity` offsets; when it is {@link full} the partition must pause, nothing is ever dropped.
 */
export class OffsetTracker {
  readonly #offsets: Float64Array;
  readonly #done: Uint8Array;
  readonly #mask: number;
  // Counters that only grow; the slot is the counter masked.
  #head = 0;
  #tail = 0;
  #next: number;

  /** @param fromOffset offset of the first record that will be taken @param capacity rounded up to a power of two */
  constructor(fromOffset: number, capacity = trackerCapacity) {
    const size = 2 ** Math.ceil(Math.log2(Math.max(2, capacity)));
    this.#offsets = new Float64Array(size);
    this.#done = new Uint8Array(size);
    this.#mask = size - 1;
    this.#next = fromOffset;
  }

  /** Registers a record that was taken. Throws a RangeError when offsets go back or nothing was paused at full. */
  taken(offset: number): void {
    if (offset < this.#next) throw new RangeError(`offset ${offset} was taken before (next is ${this.#next})`);
    if (this.full) throw new RangeError(`offset ${offset} taken although ${this.distance} records are unfinished`);
    const slot = this.#tail++ & this.#mask;
    this.#offsets[slot] = offset;
    this.#done[slot] = 0;
    this.#next = offset + 1;
  }

  /** Marks a taken record as ended. An offset that is not open (ended before, never taken) changes nothing. */
  done(offset: number): void {
    let low = this.#head;
    let high = this.#tail - 1;
    while (low <= high) {
      const middle = low + ((high - low) >>> 1);
      const at = this.#offsets[middle & this.#mask] ?? 0;
      if (at === offset) {
        this.#done[middle & this.#mask] = 1;
        break;
      }
      if (at < offset) low = middle + 1;
      else high = middle - 1;
    }
    while (this.#head < this.#tail && this.#done[this.#head & this.#mask] === 1) this.#head++;
  }

  /** What may be committed: the offset of the first unfinished record, or the next one to be taken. */
  get watermark(): number {
    return this.#head === this.#tail ? this.#next : (this.#offsets[this.#head & this.#mask] ?? this.#next);
  }

  /** Records between the first unfinished and the newest taken, both included. */
  get distance(): number {
    return this.#tail - this.#head;
  }

  /** Whether another record must wait. */
  get full(): boolean {
    return this.distance > this.#mask;
  }

  /** Offsets above the watermark that are done already, ascending. */
  *doneAbove(): Iterable<number> {
    for (let i = this.#head; i < this.#tail; i++) {
      if (this.#done[i & this.#mask] === 1) yield this.#offsets[i & this.#mask] ?? 0;
    }
  }
}
