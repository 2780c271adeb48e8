import { jsonCodec, type Store, type Table } from './store.ts';

/** Progress of a group in one partition. */
export interface StoredOffset {
  readonly offset: number;
  readonly metadata: string | null;
}

/** Committed offsets with their metadata, by group, topic and partition. */
export class Offsets {
  readonly #store: Store;
  readonly #table: Table<StoredOffset>;

  constructor(store: Store) {
    this.#store = store;
    this.#table = store.table('offsets', jsonCodec<StoredOffset>());
  }

  get(group: string, at: { readonly topic: string; readonly partition: number }): StoredOffset | undefined {
    return this.#table.get(`${group}/${at.topic}/${at.partition}`);
  }

  put(group: string, at: { readonly topic: string; readonly partition: number }, stored: StoredOffset): void {
    this.#table.put(`${group}/${at.topic}/${at.partition}`, stored);
  }

  /** Calls `done` once everything put so far is durable. */
  whenDurable(done: () => void): void {
    this.#store.whenDurable(done);
  }
}
