import type { Observable } from 'rxjs';

/** A secret as it is kept, and how often it has been written. */
export interface VaultEntry {
  /** 1 or more. */
  readonly version: number;
  readonly text: string;
}

/**
 * Secrets that all processes share and that outlive them, sealed: who reads the store learns nothing.
 *
 * All methods emit once, then complete. While the store is away they wait; unsubscribing stops waiting. An entry that cannot
 * be opened, because its key is gone, counts as none.
 */
export interface Vault {
  read(key: string): Observable<VaultEntry | undefined>;
  /**
   * Writes an entry, durable when it emits.
   * @param ifVersion what the entry must still have; 0: there must be none
   * @returns `false` when somebody else has written meanwhile; then nothing changed
   */
  write(key: string, text: string, ifVersion: number, ttlMs: number): Observable<boolean>;
}

/** Where sealed entries are kept. The same promises as {@link Vault}, for texts that mean nothing to it. */
export type EntryStore = Vault;
