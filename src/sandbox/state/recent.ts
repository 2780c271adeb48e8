/** The last `capacity` things, oldest first. Memory is fixed; adding is O(1). */
export class Recent<T> {
  readonly #slots: T[] = [];
  readonly #capacity: number;
  #next = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  add(thing: T): void {
    if (this.#capacity === 0) return;
    this.#slots[this.#next] = thing;
    this.#next = (this.#next + 1) % this.#capacity;
  }

  /** The newest `count`, oldest of them first. */
  last(count: number): T[] {
    const isFull = this.#slots.length === this.#capacity;
    const inOrder = isFull ? [...this.#slots.slice(this.#next), ...this.#slots.slice(0, this.#next)] : this.#slots;
    return count <= 0 ? [] : inOrder.slice(-count);
  }

  clear(): void {
    this.#slots.length = 0;
    this.#next = 0;
  }
}
