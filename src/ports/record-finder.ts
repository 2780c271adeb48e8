import type { Observable } from 'rxjs';

/** A record that may stand on its topic already. */
export interface Wanted {
  readonly topic: string;
  readonly key: Buffer;
  /** As `eventName` gives it. */
  readonly name: string;
  /** Epoch milliseconds before which it was not written. */
  readonly sinceMs: number;
}

/** Where a record stands. */
export interface Position {
  readonly partition: number;
  readonly offset: number;
}

/** Looks events up on their topic by what they are called. It reads all that was written since: for moments of doubt. */
export interface RecordFinder {
  /** Emits once, then completes; `undefined`: it stands nowhere. Waits while the store is away. */
  find(wanted: Wanted): Observable<Position | undefined>;
}
