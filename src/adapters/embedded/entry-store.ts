import { Observable } from 'rxjs';

import type { Clock } from '../../ports/clock.ts';
import type { EntryStore, VaultEntry } from '../../ports/vault.ts';

import { jsonCodec, type Store, type Table } from './store.ts';

interface Kept extends VaultEntry {
  readonly untilMs: number;
}

const sweepEveryMs = 60_000;

/**
 * {@link EntryStore} in the data folder. Entries whose time is over are dropped when they are looked at, and all of them once
 * a minute while something is written.
 */
export class EmbeddedEntryStore implements EntryStore {
  readonly #store: Store;
  readonly #table: Table<Kept>;
  readonly #clock: Clock;
  #sweptAtMs: number;

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#table = store.table('entries', jsonCodec<Kept>());
    this.#clock = clock;
    this.#sweptAtMs = clock.now();
  }

  read(key: string): Observable<VaultEntry | undefined> {
    return new Observable((subscriber) => {
      const entry = this.#live(key);
      subscriber.next(entry === undefined ? undefined : { version: entry.version, text: entry.text });
      subscriber.complete();
    });
  }

  write(key: string, text: string, ifVersion: number, ttlMs: number): Observable<boolean> {
    return new Observable((subscriber) => {
      this.#sweep();
      const ours = (this.#live(key)?.version ?? 0) === ifVersion;
      if (ours) this.#table.put(key, { version: ifVersion + 1, text, untilMs: this.#clock.wall() + ttlMs });
      this.#store.whenDurable(() => {
        subscriber.next(ours);
        subscriber.complete();
      });
    });
  }

  #sweep(): void {
    if (this.#clock.now() - this.#sweptAtMs < sweepEveryMs) return;
    this.#sweptAtMs = this.#clock.now();
    const nowMs = this.#clock.wall();
    for (const [key, { untilMs }] of this.#table.rows()) if (untilMs <= nowMs) this.#table.remove(key);
  }

  #live(key: string): Kept | undefined {
    const kept = this.#table.get(key);
    if (kept === undefined || kept.untilMs > this.#clock.wall()) return kept;
    this.#table.remove(key);
    return undefined;
  }
}
