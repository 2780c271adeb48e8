import type { Observable } from 'rxjs';

/** A call that waits outside its worker, in a delay topic. */
export interface ParkedCall {
  /** Ordering key. */
  readonly key: string;
  /** Of the record that first brought it: its place among the calls of its key. */
  readonly offset: number;
  /** Not before, epoch milliseconds. */
  readonly dueMs: number;
}

/** The right to change what is written down of one partition. */
export interface ParkedScope {
  /** Names the partition of `calls` for ever. */
  readonly partition: string;
  readonly fence: number;
}

/**
 * Which calls of a key wait outside, so that whoever reads the next one of it, now or after a restart, lets it wait behind.
 *
 * Promises: durable once emitted; `put` and `remove` may be repeated; of all who opened a partition only the last one can
 * change it. All methods emit once, then complete; while the store is away they wait and try again (they do not fail);
 * unsubscribing stops waiting.
 */
export interface ParkedRegister {
  /** Takes a partition over and reads all of it. */
  open(partition: string): Observable<{ readonly fence: number; readonly calls: readonly ParkedCall[] }>;
  /** Writes a call down, or its new time. `false`: somebody else has taken the partition over; nothing was written. */
  put(scope: ParkedScope, call: ParkedCall): Observable<boolean>;
  /** Forgets a call. `false` as for `put`. */
  remove(scope: ParkedScope, offset: number): Observable<boolean>;
  /** Whether the store answers at present. */
  ready(): boolean;
}
