import { LRUCache } from 'lru-cache';

/**
 * Ids accepted lately, so that a client which asks before a worker has begun hears "pending", not "unknown". Bounded:
 * the oldest give way. Only what this process accepted; another one answers "unknown" for that short while.
 */
export class RecentIds {
  readonly #ids: LRUCache<string, true>;

  /** @param capacity ids remembered, 1 or more */
  constructor(capacity: number) {
    this.#ids = new LRUCache({ max: capacity });
  }

  /** Remembers an id as the newest. */
  add(id: string): void {
    this.#ids.set(id, true);
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }
}
