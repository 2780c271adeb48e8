/** An entry of a {@link NotBeforeHeap}; the handle by which it is cancelled. */
export interface HeapEntry<V> {
  readonly atMs: number;
  readonly value: V;
  /** Order of insertion, so that equal times keep it. */
  readonly seq: number;
  /** Place in the heap; -1 once it has left. */
  index: number;
}

/** Binary heap of what must not happen before a time: add, cancel and pop in O(log n), the earliest in O(1). */
export class NotBeforeHeap<V> {
  readonly #heap: HeapEntry<V>[] = [];
  #seq = 0;

  get size(): number {
    return this.#heap.length;
  }

  /** Time of the earliest entry; `undefined` when empty. */
  get earliestMs(): number | undefined {
    return this.#heap[0]?.atMs;
  }

  add(atMs: number, value: V): HeapEntry<V> {
    const entry: HeapEntry<V> = { atMs, value, seq: this.#seq, index: this.#heap.length };
    this.#seq += 1;
    this.#heap.push(entry);
    this.#up(entry);
    return entry;
  }

  /** Takes an entry out before its time; one that has left already is left alone. */
  cancel(entry: HeapEntry<V>): void {
    if (this.#heap[entry.index] !== entry) return;
    const last = this.#heap.pop();
    if (last !== undefined && last !== entry) {
      this.#put(last, entry.index);
      this.#up(last);
      this.#down(last);
    }
    entry.index = -1;
  }

  /** Takes the earliest value whose time has come; `undefined` when none is due. Equal times leave in order of `add`. */
  popDue(nowMs: number): V | undefined {
    const top = this.#heap[0];
    if (top === undefined || top.atMs > nowMs) return undefined;
    this.cancel(top);
    return top.value;
  }

  #put(entry: HeapEntry<V>, index: number): void {
    this.#heap[index] = entry;
    entry.index = index;
  }

  #up(entry: HeapEntry<V>): void {
    for (;;) {
      const parent = this.#heap[(entry.index - 1) >> 1];
      if (entry.index === 0 || parent === undefined || isBefore(parent, entry)) return;
      this.#swap(parent, entry);
    }
  }

  #down(entry: HeapEntry<V>): void {
    for (;;) {
      const left = this.#heap[2 * entry.index + 1];
      const right = this.#heap[2 * entry.index + 2];
      const child = left !== undefined && right !== undefined && isBefore(right, left) ? right : left;
      if (child === undefined || isBefore(entry, child)) return;
      this.#swap(entry, child);
    }
  }

  #swap(upper: HeapEntry<V>, lower: HeapEntry<V>): void {
    const at = upper.index;
    this.#put(upper, lower.index);
    this.#put(lower, at);
  }
}

function isBefore<V>(a: HeapEntry<V>, b: HeapEntry<V>): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.seq < b.seq);
}
