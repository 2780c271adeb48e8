import { createHash } from 'node:crypto';

import {
  catchError,
  concat,
  defer,
  finalize,
  forkJoin,
  map,
  mergeMap,
  NEVER,
  type Observable,
  of,
  ReplaySubject,
  tap,
} from 'rxjs';

import type { Cover } from '../../model/cover.ts';
import { type DeadLetterFilter, filterText } from '../../model/dead-letters/filter.ts';
import { LarkspurError, messageOf } from '../../model/errors.ts';
import type { InRecord } from '../../model/record.ts';
import { passedOver, sendAgain, takeBack } from '../../pipeline/dead-letters/redrive.ts';
import { walk, type WalkOptions } from '../../pipeline/dead-letters/walk.ts';
import type {
  DeadLetterDesk,
  DeadLetterDetail,
  DeadLetterList,
  ListQuestion,
  RedriveOrder,
  RedrivePreview,
  RunView,
} from '../../ports/dead-letter-desk.ts';
import type { Stores, WorldParts } from '../stores.ts';

import { AuditBook } from './audit-book.ts';
import { Runs } from './runs.ts';
import { listDeadLetters, previewRedrive, showDeadLetter } from './survey.ts';

const topic = 'dead-letters';
// What a run had under way when it was killed lies this far behind its commit at most.
const underWayReach = 1_024;

/** {@link DeadLetterDesk} on the stores of this process. */
export class LocalDesk implements DeadLetterDesk {
  readonly #stores: Stores;
  readonly #parts: WorldParts;
  readonly #cover: Cover;
  readonly #audit: AuditBook;
  readonly #runs = new Runs();

  /** @param cover what is kept from who looks at a dead letter */
  constructor(stores: Stores, parts: WorldParts, cover: Cover) {
    this.#cover = cover;
    this.#stores = stores;
    this.#parts = parts;
    this.#audit = new AuditBook(stores, parts.clock);
  }

  list(question: ListQuestion): Observable<DeadLetterList> {
    return defer(() => listDeadLetters(this.#stores.reader, question));
  }

  show(ref: string): Observable<DeadLetterDetail> {
    return defer(() => showDeadLetter(this.#stores.reader, this.#stores.claims, ref, this.#cover));
  }

  preview(filter: DeadLetterFilter, perSecond: number): Observable<RedrivePreview> {
    return defer(() => previewRedrive(this.#stores.reader, filter, perSecond, this.#parts.clock.wall()));
  }

  redrive(order: RedriveOrder): Observable<RunView> {
    const { run, filter, perSecond, who } = order;
    return defer(() => {
      const begin$ = this.#stores.reader.bounds(topic).pipe(
        map((bounds) => new Map(bounds.map(({ partition, end }) => [partition, end]))),
        mergeMap((ends) =>
          this.#walk('redrive', run, {
            about: digestOf(filter),
            ends,
            perSecond,
            passOver: (record) => passedOver(record, filter, this.#parts.clock.wall()),
            act: (record) => sendAgain(record, this.#stores.sink),
          }),
        ),
      );
      return this.#keep('redrive', run, who, { filter, perSecond }, begin$);
    });
  }

  undo(run: string, who: string): Observable<RunView> {
    return this.ordered(run).pipe(
      mergeMap(({ filter }) => {
        const { reader } = this.#stores;
        const done$ = forkJoin([
          reader.committed(this.#stores.walkGroup(`redrive-${run}`), topic),
          reader.bounds(topic),
        ]);
        const begin$ = done$.pipe(
          map(
            ([committed, bounds]) =>
              new Map(
                bounds.map(({ partition, begin, end }) => {
                  const reached = committed.get(partition);
                  return [partition, reached === undefined ? begin : Math.min(end, reached + underWayReach)];
                }),
              ),
          ),
          mergeMap((ends) =>
            this.#walk('undo', run, {
              about: digestOf(filter),
              ends,
              perSecond: Infinity,
              passOver: (record: InRecord) => passedOver(record, filter, this.#parts.clock.wall()),
              act: (record: InRecord) => takeBack(record, this.#stores.claims),
            }),
          ),
        );
        return this.#keep('undo', run, who, { filter }, begin$);
      }),
    );
  }

  ordered(run: string): Observable<Omit<RedriveOrder, 'who'>> {
    return this.#audit.lastStart(run).pipe(
      map((detail) => {
        if (detail === undefined) {
          throw new LarkspurError('not_found', `there is no redrive of the name ${run}`, {
            cure: 'see `larkspur tail audit` for the names',
          });
        }
        return { run, ...detail };
      }),
    );
  }

  stop(run: string): boolean {
    const found = this.#runs.get(run);
    if (found?.view.state !== 'running') return false;
    found.stop();
    return true;
  }

  runs(): readonly RunView[] {
    return this.#runs.views();
  }

  /** Stops all runs in order; resolves when they have ended, at the latest after ten seconds. */
  close(): Promise<void> {
    return this.#runs.close(this.#parts);
  }

  #walk(
    kind: RunView['kind'],
    run: string,
    what: Omit<WalkOptions, 'source' | 'clock' | 'timers' | 'stop$'>,
  ): Observable<RunView> {
    const { clock, timers } = this.#parts;
    const source = this.#stores.walkSource(`${kind}-${run}`, topic);
    const stop$ = this.#runs.get(run)?.stop$ ?? NEVER;
    return walk({ ...what, source, clock, timers, stop$ }).pipe(
      map(({ state, counts, left }) => ({ run, kind, state, counts: named(counts), left })),
    );
  }

  /** Runs to its end whoever listens, and writes down who began it and what came of it. */
  #keep(
    kind: RunView['kind'],
    run: string,
    who: string,
    detail: Readonly<Record<string, unknown>>,
    begin$: Observable<RunView>,
  ): Observable<RunView> {
    const kept = this.#runs.begin(kind, run);
    const told$ = new ReplaySubject<RunView>(1);
    told$.next(kept.view);
    const note$ = (from: string | null, more: object) =>
      this.#audit.write(who, kept.view, from, { ...detail, ...more });
    const view$ = begin$.pipe(
      catchError((error: unknown) => of({ ...kept.view, state: 'failed', error: messageOf(error) } as const)),
      tap((view) => (kept.view = view)),
    );
    const ended$ = defer(() => {
      const { counts, left, error } = kept.view;
      return note$('running', { counts, left, ...(error === undefined ? {} : { error }) });
    });
    concat(note$(null, {}), view$, ended$)
      .pipe(finalize(() => kept.end()))
      .subscribe(told$);
    return told$;
  }
}

function named({ other: _other, ...counts }: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  return counts;
}

function digestOf(filter: DeadLetterFilter): string {
  return createHash('sha256').update(filterText(filter)).digest('hex').slice(0, 16);
}
