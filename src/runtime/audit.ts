import { map, merge, mergeMap, type Observable, of, ReplaySubject, take } from 'rxjs';

import { auditRecord } from '../model/audit.ts';
import { messageOf } from '../model/errors.ts';
import { isoTime } from '../model/time.ts';
import { after } from '../operators/interop/after.ts';
import type { Ack, RecordSink } from '../ports/record-sink.ts';

import type { WorldParts } from './stores.ts';

/** A change: who, what, from and to, why. */
export interface AuditChange {
  readonly by: string;
  /** E.g. `breaker/news`; the key of the record. */
  readonly what: string;
  readonly from: unknown;
  readonly to: unknown;
  readonly reason?: string | undefined;
  readonly requestId?: string | undefined;
}

// A person waits so long for the record on `audit`; it is written later all the same.
const patienceMs = 2_000;
const leftOut = 'left out: larger than the topic takes';

/** Writes the topic `audit`: each change by a person, a file or a playbook. */
export class Audit {
  readonly #sink: Pick<RecordSink, 'append'>;
  readonly #parts: Pick<WorldParts, 'clock' | 'timers' | 'log'>;

  constructor(sink: Pick<RecordSink, 'append'>, parts: Pick<WorldParts, 'clock' | 'timers' | 'log'>) {
    this.#sink = sink;
    this.#parts = parts;
  }

  /** Writes a change without waiting for it; what cannot be written now is written later. @returns its time */
  write(change: AuditChange): string {
    const { at, written$ } = this.#append(change);
    written$.subscribe();
    return at;
  }

  /** Writes a change; emits within two seconds whether it is durable already. Unsubscribing does not stop the writing. */
  written(change: AuditChange): Observable<boolean> {
    const { written$ } = this.#append(change);
    return merge(written$, after(this.#parts.timers, patienceMs).pipe(map(() => false))).pipe(take(1));
  }

  #append(change: AuditChange): { readonly at: string; readonly written$: Observable<boolean> } {
    const at = isoTime(this.#parts.clock.wall());
    const written$ = new ReplaySubject<boolean>(1);
    const failed = (why: string): void => {
      this.#parts.log.error({ what: change.what, error: why }, 'a change is not on the topic audit');
      written$.next(false);
    };
    const append$ = (entry: AuditChange): Observable<Ack> => this.#sink.append(auditRecord({ at, ...entry }));
    append$(change)
      .pipe(
        // Then it says at least who changed what.
        mergeMap((ack) => (ack.kind === 'written' ? of(ack) : append$({ ...change, from: leftOut, to: leftOut }))),
      )
      .subscribe({
        next: ({ kind }) => (kind === 'written' ? written$.next(true) : failed('it is larger than the topic takes')),
        error: (error: unknown) => failed(messageOf(error)),
      });
    return { at, written$ };
  }
}
