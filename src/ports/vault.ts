import type { Observable } from 'rxjs';

/** A secret as it is kept, and how often it has been written. */
export interface VaultEntry {
  /** 1 or more. */
  readonly version: number;
  readonly text: string;
}

/**
 * Texts that all processes share and that outlive them. All methods emit once, then complete. While the store is away they
 * wait; unsubscribing stops waiting.
 */
export interface EntryStore {
  read(key: string): Observable<VaultEntry | undefined>;
  /**
   * Writes an entry, durable when it emits.
   * @param ifVersion what the entry must still have; 0: there must be none
   * @returns `false` when somebody else has written meanwhile; then nothing changed
   */
  write(key: string, text: string, ifVersion: number, ttlMs: number): Observable<boolean>;
}

/**
 * An {@link EntryStore} that seals what it keeps: who reads the store learns nothing. An entry that cannot be opened, because
 * its key is gone, is none to `read`.
 */
export interface Vault extends EntryStore {
  /** Writes over whatever is there, also over what cannot be opened; durable when it emits. */
  replace(key: string, text: string, ttlMs: number): Observable<true>;
}
