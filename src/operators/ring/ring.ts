const maxCapacity = 2 ** 24;

/**
 * Bounded FIFO over a preallocated array, O(1) and without allocation per item.
 *
 * The capacity is a power of two, so that `sequence & mask` finds the slot (as in the LMAX Disruptor, for one thread).
 * The cursors wrap at 32 bits: every capacity divides 2^32, so slots and differences stay right for ever, and
 * the engine never boxes them. A slot is cleared after use, so a ring keeps nothing alive that was taken from it.
 */
export class Ring<T> {
  readonly #slots: (T | undefined)[];
  readonly #mask: number;
  #read: number;
  #write: number;

  /**
   * @param capacity 1 to 2^24; other sizes than powers of two are rounded up
   * @param firstSequence sequence number of the first item; an integer >= 0 (lets a test stand right before the wrap)
   * @throws RangeError when one is out of range
   */
  constructor(capacity: number, firstSequence = 0) {
    if (!(Number.isInteger(capacity) && capacity >= 1 && capacity <= maxCapacity)) {
      throw new RangeError(`ring.capacity must be an integer in [1, ${maxCapacity}], got ${capacity}`);
    }
    if (!(Number.isSafeInteger(firstSequence) && firstSequence >= 0)) {
      throw new RangeError(`ring.firstSequence must be an integer >= 0, got ${firstSequence}`);
    }
    const size = 2 ** (32 - Math.clz32(capacity - 1));
    this.#slots = new Array<T | undefined>(size).fill(undefined);
    this.#mask = size - 1;
    this.#read = firstSequence | 0;
    this.#write = firstSequence | 0;
  }

  get size(): number {
    return (this.#write - this.#read) | 0;
  }

  get capacity(): number {
    return this.#mask + 1;
  }

  /** Appends; `false` when full, then nothing has changed. */
  push(item: T): boolean {
    if (this.size > this.#mask) return false;
    this.#slots[this.#write & this.#mask] = item;
    this.#write = (this.#write + 1) | 0;
    return true;
  }

  /** Takes the oldest item; `undefined` when empty. */
  shift(): T | undefined {
    if (this.#write === this.#read) return undefined;
    const slot = this.#read & this.#mask;
    const item = this.#slots[slot];
    this.#slots[slot] = undefined;
    this.#read = (this.#read + 1) | 0;
    return item;
  }

  /** The oldest item, left in place; `undefined` when empty. */
  peek(): T | undefined {
    return this.#write === this.#read ? undefined : this.#slots[this.#read & this.#mask];
  }

  /** Takes everything available up to `max`, oldest first, and appends it to `out`. Returns how many. */
  takeInto(out: T[], max: number): number {
    const count = Math.min(max, this.size);
    for (let taken = 0; taken < count; taken++) {
      const slot = this.#read & this.#mask;
      out.push(this.#slots[slot] as T);
      this.#slots[slot] = undefined;
      this.#read = (this.#read + 1) | 0;
    }
    return count;
  }

  /** What is in it, oldest first, left in place. */
  *items(): IterableIterator<T> {
    for (let at = 0; at < this.size; at++) yield this.#slots[(this.#read + at) & this.#mask] as T;
  }

  clear(): void {
    this.#slots.fill(undefined);
    this.#read = this.#write;
  }
}
