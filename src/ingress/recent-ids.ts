/**
 * Ids accepted lately, so that a client which asks before a worker has begun hears "pending", not "unknown". Bounded:
 * the oldest give way. Only what this process accepted; another one answers "unknown" for that short while.
 */
export class RecentIds {
  readonly #capacity: number;
  // Sets keep the order of insertion, so the first one is the oldest.
  readonly #ids = new Set<string>();

  /** @param capacity ids remembered, 1 or more */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Remembers an id as the newest. */
  add(id: string): void {
    this.#ids.delete(id);
    this.#ids.add(id);
    if (this.#ids.size > this.#capacity) {
      for (const oldest of this.#ids) {
        this.#ids.delete(oldest);
        break;
      }
    }
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }
}
