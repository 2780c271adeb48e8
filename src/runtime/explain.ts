import { concat, defer, EMPTY, map, mergeMap, type Observable, of, reduce, take } from 'rxjs';

import { type DeadLetterHistory, firstOrigin } from '../model/dead-letter.ts';
import type { DeadLetterView } from '../model/dead-letters/dead-letter-view.ts';
import type { Explanation } from '../model/explanation.ts';
import { jsonOrText } from '../model/json-levels.ts';
import { type InRecord, originOf } from '../model/record.ts';
import type { Result } from '../model/result.ts';
import { isTree } from '../model/schema-words.ts';
import { explainDeadClaim, explainDeadLetter, explainResult } from '../pipeline/explain/explain-ended.ts';
import { explainHeld, type HeldCall } from '../pipeline/explain/explain-held.ts';
import { explainRecord } from '../pipeline/explain/explain-record.ts';
import { readRef } from '../pipeline/explain/find-record.ts';
import { placeIn } from '../pipeline/explain/places.ts';
import type { House } from '../pipeline/house.ts';

import { newestDeadLetter } from './dead-letters/newest.ts';
import { firstOfLine, heldIn, nameIn, newestHeld } from './held-calls.ts';
import type { Stores } from './stores.ts';

/**
 * Answers for one record where it is, what it waits for and how it ended: from the worker of this process if it holds the
 * record, else from the stores. Emits once; errors with what the stores say.
 * @param house the worker of this process, if there is one
 */
export function explain(ref: string, stores: Stores, house: House | undefined): Observable<Explanation> {
  return defer(() => new Question(ref, stores, house).answer()).pipe(take(1));
}

class Question {
  readonly #ref: string;
  readonly #stores: Stores;
  readonly #house: House | undefined;

  constructor(ref: string, stores: Stores, house: House | undefined) {
    this.#ref = ref;
    this.#stores = stores;
    this.#house = house;
  }

  /** The first that knows: the house, what ended, what has been read, what is still to be read. */
  answer(): Observable<Explanation> {
    const ref = readRef(this.#ref);
    const held = this.#house === undefined ? undefined : explainRecord(this.#house, ref, this.#ref);
    if (held !== undefined) return of(held);
    if (ref.kind === 'place') return this.#atPlace(ref.topic, ref.partition, ref.offset);
    const place = placeIn(this.#ref);
    return concat(
      this.#byClaim(this.#ref),
      this.#deadLetter((view) => view.id === this.#ref),
      place === undefined ? of(this.#unknown()) : defer(() => new Question(place, this.#stores, this.#house).answer()),
    );
  }

  #atPlace(topic: string, partition: number, offset: number): Observable<Explanation> {
    const { reader } = this.#stores;
    const record$ = reader.scan(topic, [{ partition, from: offset, to: offset + 1 }]);
    return record$.pipe(
      reduce<InRecord, InRecord | undefined>((_, record) => record, undefined),
      mergeMap((record) => {
        if (record === undefined) return this.#notThere(topic, partition, offset);
        if (topic === 'results')
          return of(explainResult(this.#ref, JSON.parse(String(record.value)) as Result, record));
        if (topic === 'dead-letters') return of(explainDeadLetter(this.#ref, record));
        return reader.cluster().pipe(mergeMap((cluster) => this.#ofInput(record, originOf(cluster, record))));
      }),
    );
  }

  #ofInput(record: InRecord, origin: string): Observable<Explanation> {
    const held = heldIn(record);
    return concat(
      this.#byClaim(held?.id ?? nameIn(record, origin)),
      held === undefined ? EMPTY : this.#ofHeld(held),
      this.#deadLetter(({ record: { headers } }) => firstOrigin({ headers }) === origin),
      defer(() => this.#toBeRead(record)),
    );
  }

  #byClaim(id: string): Observable<Explanation> {
    // Without its store nobody waits here: what else is known is told.
    if (!this.#stores.claims.ready()) return EMPTY;
    return this.#stores.claims.view(id).pipe(
      mergeMap((view): Observable<Explanation> => {
        switch (view.kind) {
          case 'processed':
            return of(explainResult(this.#ref, JSON.parse(view.result) as Result));
          case 'dead':
            return of(explainDeadClaim(this.#ref, id, view.origin, historyIn(view.result)));
          case 'pending':
          case 'failed':
            return concat(this.#held(id), of(this.#elsewhere(id, view.kind)));
          case 'unknown':
            return EMPTY;
        }
      }),
    );
  }

  /** The newest dead letter that is meant; nothing when there is none. */
  #deadLetter(isMeant: (view: DeadLetterView) => boolean): Observable<Explanation> {
    return defer(() => newestDeadLetter(this.#stores.reader, isMeant)).pipe(
      mergeMap((record) => (record === undefined ? EMPTY : of(explainDeadLetter(this.#ref, record)))),
    );
  }

  /** What of it stands in a delay topic; nothing when it waits in none. */
  #held(id: string): Observable<Explanation> {
    return newestHeld(this.#stores.reader, id).pipe(
      mergeMap((found) => (found === undefined ? EMPTY : this.#ofHeld(found))),
    );
  }

  /** One that stands behind another call of its key is told together with the first of them. */
  #ofHeld(held: HeldCall): Observable<Explanation> {
    if (held.state.why !== 'order') return of(explainHeld(this.#ref, held));
    return firstOfLine(this.#stores.reader, held).pipe(map((first) => explainHeld(this.#ref, held, first)));
  }

  #toBeRead({ topic, partition, offset }: InRecord): Observable<Explanation> {
    const { reader, group } = this.#stores;
    return reader.committed(group, topic).pipe(
      map((committed) => {
        const reached = committed.get(partition) ?? 0;
        const at = `${topic}/${partition}/${offset}`;
        if (offset < reached) {
          const summary =
            'It has ended: everything up to it is committed. Its result is no longer known by its claim; look for its key in `larkspur tail results`.';
          return { ...this.#empty('ended', summary), at };
        }
        const ahead = offset - reached;
        const why = `no worker has finished with the ${ahead} records before it in its partition, or none reads that partition`;
        const cure =
          'see the lag (larkspur_kafka_assigned_partitions, /readyz): start a worker, or ask the one that owns the partition with --url';
        return {
          ...this.#empty('unread', `It has not been read by the worker that was asked: ${why}.`),
          at,
          waits: [{ what: 'unread', on: `${topic}/${partition}`, why, cure, ahead } as const],
        };
      }),
    );
  }

  #notThere(topic: string, partition: number, offset: number): Observable<Explanation> {
    return this.#stores.reader.bounds(topic).pipe(
      map((bounds) => {
        const found = bounds.find((one) => one.partition === partition);
        const why =
          found === undefined
            ? `${topic} has no partition ${partition}`
            : offset >= found.end
              ? `${topic}/${partition} ends at ${found.end}: no such record has been written`
              : `${topic}/${partition} begins at ${found.begin}: the record is no longer kept`;
        return this.#empty('unknown', `There is no such record: ${why}.`);
      }),
    );
  }

  #elsewhere(id: string, kind: 'pending' | 'failed'): Explanation {
    const summary =
      kind === 'pending'
        ? 'A worker is at it, and it is not the one that was asked: ask the others with --url.'
        : 'A worker has given it back, and it waits to be taken up again; it is not in the worker that was asked.';
    const why =
      kind === 'pending'
        ? 'another worker holds its claim'
        : 'its claim is free, and no worker that was asked holds it';
    return {
      ...this.#empty('elsewhere', summary),
      id,
      waits: [{ what: 'claim', on: id, why, cure: 'ask the other workers: larkspur explain --url, once per worker' }],
    };
  }

  #unknown(): Explanation {
    return this.#empty(
      'unknown',
      'Nothing is known of it: no worker has begun it, it was never written, or it ended longer ago than claims and dead letters are kept.',
    );
  }

  #empty(where: Explanation['where'], summary: string): Explanation {
    return { ref: this.#ref, where, summary, steps: [], waits: [], attempts: [] };
  }
}

function historyIn(json: string): Partial<DeadLetterHistory> {
  const value = jsonOrText(json);
  return isTree(value) ? value : {};
}
