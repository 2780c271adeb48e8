import { LRUCache } from 'lru-cache';

/** Bounds of a {@link NearCache}. */
export interface NearCacheBounds {
  readonly maxEntries: number;
  readonly maxBytes: number;
}

/** What is kept under a key. */
export interface Kept<V> {
  /** `undefined`: it is known that there is nothing. */
  readonly value: V | undefined;
  /** From then on something newer is looked for, while this one serves on. */
  readonly freshUntilMs: number;
  /** From then on it is not kept any more. */
  readonly untilMs: number;
}

/** How long what is put serves without a look, and at all; milliseconds. */
export interface Life {
  readonly freshMs: number;
  readonly lifeMs: number;
}

// What an entry costs beside its key and value.
const overheadBytes = 200;

/**
 * What a process knows of a larger store, bounded in entries and bytes: the least recently used goes first. It remembers that
 * there is nothing, too, and tells when it is time to look for something newer. Plain decision: the time is an argument, and who
 * loads is somebody else.
 */
export class NearCache<V> {
  readonly #entries: LRUCache<string, Kept<V>>;

  /** @param sizeOf bytes of a value */
  constructor({ maxEntries, maxBytes }: NearCacheBounds, sizeOf: (value: V) => number) {
    this.#entries = new LRUCache({
      max: maxEntries,
      maxSize: maxBytes,
      sizeCalculation: ({ value }, key) => overheadBytes + key.length + (value === undefined ? 0 : sizeOf(value)),
    });
  }

  /** Entries at present. */
  get size(): number {
    return this.#entries.size;
  }

  /** What is kept under a key and not over. */
  get(key: string, nowMs: number): Kept<V> | undefined {
    const kept = this.#entries.get(key);
    if (kept === undefined || nowMs < kept.untilMs) return kept;
    this.#entries.delete(key);
    return undefined;
  }

  /** Keeps a value, or with `undefined` that there is none. */
  put(key: string, value: V | undefined, { freshMs, lifeMs }: Life, nowMs: number): void {
    this.#entries.set(key, { value, freshUntilMs: nowMs + freshMs, untilMs: nowMs + lifeMs });
  }

  /** What is kept counts as new for so long once more; it lives no longer for that. */
  refresh(key: string, freshMs: number, nowMs: number): void {
    const kept = this.get(key, nowMs);
    if (kept !== undefined) this.#entries.set(key, { ...kept, freshUntilMs: nowMs + freshMs });
  }
}
