import { randomUUID } from 'node:crypto';

import type { BlobLog, Store, Table } from './store.ts';

/** A {@link Store} that ends with the process. Every write is durable at once, so nothing in it ever waits. */
export class MemoryStore implements Store {
  readonly clusterId: string;
  readonly lost = new Promise<never>(() => undefined);
  readonly #tables = new Map<string, Map<string, unknown>>();
  readonly #logs = new Map<string, MemoryLog>();

  constructor(clusterId: string = randomUUID()) {
    this.clusterId = clusterId;
  }

  table<V>(name: string): Table<V> {
    let rows = this.#tables.get(name) as Map<string, V> | undefined;
    if (rows === undefined) {
      rows = new Map<string, V>();
      this.#tables.set(name, rows);
    }
    const held = rows;
    return {
      get: (key) => held.get(key),
      put: (key, value) => void held.set(key, value),
      remove: (key) => void held.delete(key),
      rows: () => held.entries(),
    };
  }

  log(topic: string, partition: number): BlobLog {
    const name = `${topic}/${partition}`;
    let log = this.#logs.get(name);
    if (log === undefined) {
      log = new MemoryLog();
      this.#logs.set(name, log);
    }
    return log;
  }

  whenDurable(done: () => void): void {
    done();
  }

  ready(): boolean {
    return true;
  }

  close(): Promise<void> {
    this.#tables.clear();
    this.#logs.clear();
    return Promise.resolve();
  }
}

class MemoryLog implements BlobLog {
  readonly #blobs = new Map<number, Buffer>();
  #first = 0;
  #last: number | undefined;

  put(offset: number, blob: Buffer): void {
    if (this.#blobs.size === 0 || offset < this.#first) this.#first = offset;
    this.#blobs.set(offset, blob);
    this.#last = offset;
  }

  *from(offset: number): IterableIterator<readonly [number, Buffer]> {
    const first = this.first();
    if (first === undefined || this.#last === undefined) return;
    for (let at = Math.max(offset, first); at <= this.#last; at++) {
      const blob = this.#blobs.get(at);
      if (blob !== undefined) yield [at, blob];
    }
  }

  first(): number | undefined {
    if (this.#blobs.size === 0) return undefined;
    // Not the map's first key: the engine searches for that past all that was removed before it.
    while (!this.#blobs.has(this.#first)) this.#first++;
    return this.#first;
  }

  last(): number | undefined {
    return this.#blobs.size === 0 ? undefined : this.#last;
  }

  remove(offset: number): void {
    this.#blobs.delete(offset);
  }
}
