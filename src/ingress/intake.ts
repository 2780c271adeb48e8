import { defer, finalize, map, merge, type Observable, of, ReplaySubject, share, take } from 'rxjs';

import type { OutRecord } from '../model/record.ts';
import { after } from '../operators/interop/after.ts';
import type { Timers } from '../ports/clock.ts';
import type { Ack, RecordSink } from '../ports/record-sink.ts';

/** What became of a record that was handed in: as the sink says, or `busy` (not taken), or `late` (may yet be written). */
export type Intake = Ack | { readonly kind: 'busy' | 'late' };

/**
 * Hands records to a sink that may hold them for long, for clients that will not wait for long.
 *
 * The sink keeps an unacknowledged write for ever and cannot drop it, so a write counts until its acknowledgement even
 * when its client was answered `late`; with `maxHeld` of them the next one is `busy` at once. That bounds memory while
 * the store is away.
 */
export class BoundedIntake {
  readonly #sink: RecordSink;
  readonly #timers: Timers;
  readonly #maxHeld: number;
  readonly #patienceMs: number;
  #held = 0;

  /** @param maxHeld writes without acknowledgement, 1 or more @param patienceMs until a client hears `late` */
  constructor(sink: RecordSink, timers: Timers, maxHeld: number, patienceMs: number) {
    this.#sink = sink;
    this.#timers = timers;
    this.#maxHeld = maxHeld;
    this.#patienceMs = patienceMs;
  }

  /** Writes without acknowledgement. */
  get held(): number {
    return this.#held;
  }

  /** Emits once, then completes. Unsubscribing drops interest, not the write. */
  append(record: OutRecord): Observable<Intake> {
    return defer((): Observable<Intake> => {
      if (this.#held >= this.#maxHeld) return of({ kind: 'busy' });
      this.#held++;
      const ack$ = this.#sink.append(record).pipe(
        finalize(() => this.#held--),
        // Keeps the subscription to the sink, and with it the count, when the client is gone.
        share({ connector: () => new ReplaySubject<Ack>(1), resetOnRefCountZero: false }),
      );
      const late$ = after(this.#timers, this.#patienceMs).pipe(map(() => ({ kind: 'late' }) as const));
      return merge(ack$, late$).pipe(take(1));
    });
  }
}
