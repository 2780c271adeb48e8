import { endWith, ignoreElements, map, mergeMap, type Observable, of, reduce, tap, throwError } from 'rxjs';

import type { Cover } from '../../model/cover.ts';
import { causeOf } from '../../model/dead-letters/cause.ts';
import { DeadLetterView } from '../../model/dead-letters/dead-letter-view.ts';
import { type DeadLetterFilter, matches } from '../../model/dead-letters/filter.ts';
import { DeadLetterGroups, type GroupField } from '../../model/dead-letters/groups.ts';
import { LarkspurError } from '../../model/errors.ts';
import { recordView } from '../../model/record-view.ts';
import type { InRecord } from '../../model/record.ts';
import { isoTime } from '../../model/time.ts';
import { passedOver } from '../../pipeline/dead-letters/redrive.ts';
import type { ClaimStore } from '../../ports/claim-store.ts';
import type {
  DeadLetterDetail,
  DeadLetterLine,
  DeadLetterList,
  ListQuestion,
  RedrivePreview,
} from '../../ports/dead-letter-desk.ts';
import type { TopicReader } from '../../ports/topic-reader.ts';

import { newestDeadLetter } from './newest.ts';

const topic = 'dead-letters';
const sampleSize = 5;
const previewBy: readonly GroupField[] = ['reason', 'upstream', 'code'];

/** The newest few of what passes by, by time. */
class Newest {
  readonly #most: number;
  #lines: { readonly endedMs: number; readonly line: DeadLetterLine }[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  add(view: DeadLetterView): void {
    if (this.#most === 0) return;
    this.#lines.push({ endedMs: view.endedMs, line: lineOf(view) });
    if (this.#lines.length >= 2 * this.#most + 16) this.#trim();
  }

  list(): DeadLetterLine[] {
    this.#trim();
    return this.#lines.map(({ line }) => line);
  }

  #trim(): void {
    this.#lines = this.#lines.sort((a, b) => a.endedMs - b.endedMs).slice(-this.#most);
  }
}

/** Counts and groups the dead letters that match. Reads the whole topic; memory stays flat. */
export function listDeadLetters(
  reader: TopicReader,
  { filter, by, records }: ListQuestion,
): Observable<DeadLetterList> {
  return new Tally(by, records, (record) => matches(new DeadLetterView(record), filter)).over(reader);
}

/** What a redrive would send, and what it would pass over. */
export function previewRedrive(
  reader: TopicReader,
  filter: DeadLetterFilter,
  perSecond: number,
  wallMs: number,
): Observable<RedrivePreview> {
  const why: Record<string, number> = {};
  const tally = new Tally(previewBy, sampleSize, (record) => {
    const reason = passedOver(record, filter, wallMs);
    if (reason !== undefined && reason !== 'other') why[reason] = (why[reason] ?? 0) + 1;
    return reason === undefined;
  });
  return tally.over(reader).pipe(
    map(({ looked, matched, groups, records }) => ({
      looked,
      wouldSend: matched,
      passedOver: why,
      seconds: Math.ceil(matched / perSecond),
      groups,
      sample: records,
    })),
  );
}

class Tally {
  readonly #by: readonly GroupField[];
  readonly #wanted: (record: InRecord) => boolean;
  readonly #groups: DeadLetterGroups;
  readonly #newest: Newest;
  #looked = 0;
  #matched = 0;

  constructor(by: readonly GroupField[], records: number, wanted: (record: InRecord) => boolean) {
    this.#by = by;
    this.#wanted = wanted;
    this.#groups = new DeadLetterGroups(by);
    this.#newest = new Newest(records);
  }

  over(reader: TopicReader): Observable<DeadLetterList> {
    return reader.scan(topic).pipe(
      tap((record) => this.#add(record)),
      ignoreElements(),
      endWith(undefined),
      map(() => ({
        by: this.#by,
        looked: this.#looked,
        matched: this.#matched,
        groups: this.#groups.list(),
        records: this.#newest.list(),
      })),
    );
  }

  #add(record: InRecord): void {
    this.#looked++;
    if (!this.#wanted(record)) return;
    this.#matched++;
    const view = new DeadLetterView(record);
    this.#groups.add(view);
    this.#newest.add(view);
  }
}

/** One dead letter by its place or the id of its call, with its cause in plain words and what has become of the call. */
export function showDeadLetter(
  reader: TopicReader,
  claims: ClaimStore,
  ref: string,
  cover: Cover,
): Observable<DeadLetterDetail> {
  const place = /^(?:dead-letters\/)?(\d{1,4})\/(\d{1,15})$/.exec(ref);
  const found$ =
    place === null
      ? newestDeadLetter(reader, (view) => view.id === ref)
      : recordAt(reader, Number(place[1]), Number(place[2]));
  return found$.pipe(
    mergeMap((record) => {
      if (record === undefined) return throwError(() => notFound(ref));
      const view = new DeadLetterView(record);
      const view$ = view.id === undefined ? of({ kind: 'unknown' } as const) : claims.view(view.id);
      return view$.pipe(map(({ kind }) => detailOf(view, kind, cover)));
    }),
  );
}

function recordAt(reader: TopicReader, partition: number, offset: number): Observable<InRecord | undefined> {
  return reader
    .scan(topic, [{ partition, from: offset, to: offset + 1 }])
    .pipe(reduce<InRecord, InRecord | undefined>((_, record) => record, undefined));
}

function notFound(ref: string): LarkspurError {
  return new LarkspurError('not_found', `there is no dead letter ${ref}`, {
    cure: 'name its place (PARTITION/OFFSET), or the id of its call; `larkspur dead-letters list --records 20` shows both',
  });
}

function detailOf(view: DeadLetterView, call: DeadLetterDetail['call'], cover: Cover): DeadLetterDetail {
  const { at, reason, class: outcomeClass, id, upstream, round, history, record } = view;
  return {
    ...{ at, endedAt: isoTime(view.endedMs), reason, class: outcomeClass, id, upstream, round, call },
    ...causeOf(view),
    history,
    record: recordView(record, cover),
  };
}

function lineOf(view: DeadLetterView): DeadLetterLine {
  const { at, reason, upstream, key, code, id } = view;
  return { at, endedAt: isoTime(view.endedMs), reason, upstream, key, code, id, message: view.history.message };
}
