/**
 * Most records of one partition that may stand between the first unfinished one and the newest taken one. So many, because
 * those of a full lane pass it by the thousand while its first ones wait for their turn.
 */
export const trackerCapacity = 131_072;

/** Places that are there from the beginning. More are made as long as what is done fits the metadata of a commit. */
const firstPlaces = 8_192;
const mostRuns = 600;
// It pauses for so many, and goes on well below, so that it does not pause and go on with each record that ends.
const roomyRuns = 450;

/**
 * What of one partition is done, so that a commit never passes an unfinished record.
 *
 * Records are taken in offset order (the log may have holes) and end in any order. Memory is bounded: a ring of offsets that
 * grows up to `capacity` while what is done above the watermark stands in few stretches; when it is {@link full} the partition
 * must pause, nothing is ever dropped. What is done in many stretches can fill it with a record that ends, too.
 */
export class OffsetTracker {
  readonly #capacity: number;
  #offsets: Float64Array;
  #done: Uint8Array;
  #mask: number;
  // Counters that only grow; the slot is the counter masked.
  #head = 0;
  #tail = 0;
  #next: number;
  /** Stretches of ended records above the watermark. */
  #runs = 0;

  /** @param fromOffset offset of the first record that will be taken @param capacity rounded up to a power of two */
  constructor(fromOffset: number, capacity = trackerCapacity) {
    this.#capacity = 2 ** Math.ceil(Math.log2(Math.max(2, capacity)));
    const size = Math.min(firstPlaces, this.#capacity);
    this.#offsets = new Float64Array(size);
    this.#done = new Uint8Array(size);
    this.#mask = size - 1;
    this.#next = fromOffset;
  }

  /** Registers a record that was taken. Throws a RangeError when offsets go back or nothing was paused at the capacity. */
  taken(offset: number): void {
    if (offset < this.#next) throw new RangeError(`offset ${offset} was taken before (next is ${this.#next})`);
    if (this.distance >= this.#capacity)
      throw new RangeError(`offset ${offset} taken although ${this.distance} records are unfinished`);
    if (this.distance > this.#mask) this.#grow();
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
        this.#end(middle);
        break;
      }
      if (at < offset) low = middle + 1;
      else high = middle - 1;
    }
  }

  #end(index: number): void {
    if (this.#isDone(index)) return;
    this.#runs += 1 - Number(this.#isDone(index - 1)) - Number(this.#isDone(index + 1));
    this.#done[index & this.#mask] = 1;
    if (index !== this.#head) return;
    while (this.#isDone(this.#head)) this.#head++;
    this.#runs--;
  }

  #isDone(index: number): boolean {
    return index >= this.#head && index < this.#tail && this.#done[index & this.#mask] === 1;
  }

  /** What may be committed: the offset of the first unfinished record, or the next one to be taken. */
  get watermark(): number {
    return this.#head === this.#tail ? this.#next : (this.#offsets[this.#head & this.#mask] ?? this.#next);
  }

  /** The first offset that was not taken yet. */
  get next(): number {
    return this.#next;
  }

  /** Records between the first unfinished and the newest taken, both included. */
  get distance(): number {
    return this.#tail - this.#head;
  }

  /** Whether the partition has to pause. Those that were on their way by then are still taken, up to the capacity. */
  get full(): boolean {
    return this.distance >= this.#capacity || (this.distance >= firstPlaces && this.#runs >= mostRuns);
  }

  /** Whether a partition that was paused may go on. */
  get roomy(): boolean {
    return this.distance < this.#capacity && (this.distance < firstPlaces || this.#runs < roomyRuns);
  }

  /** Offsets above the watermark that are done already, ascending. */
  *doneAbove(): Iterable<number> {
    for (let i = this.#head; i < this.#tail; i++) {
      if (this.#done[i & this.#mask] === 1) yield this.#offsets[i & this.#mask] ?? 0;
    }
  }

  #grow(): void {
    const size = 2 * (this.#mask + 1);
    const offsets = new Float64Array(size);
    const done = new Uint8Array(size);
    for (let i = this.#head; i < this.#tail; i++) {
      offsets[i & (size - 1)] = this.#offsets[i & this.#mask] ?? 0;
      done[i & (size - 1)] = this.#done[i & this.#mask] ?? 0;
    }
    this.#offsets = offsets;
    this.#done = done;
    this.#mask = size - 1;
  }
}
