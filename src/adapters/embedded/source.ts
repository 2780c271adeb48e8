import { Observable, type Subscriber } from 'rxjs';

import { LarkspurError } from '../../model/errors.ts';
import type { AssignedPartition, Commit, RecordSource, SourceEvent } from '../../ports/record-source.ts';

import type { Offsets } from './offsets.ts';
import type { PartitionLog } from './partition-log.ts';
import { toInRecord } from './record-codec.ts';
import type { Topics } from './topics.ts';

/** Leaves the current turn of the event loop and goes on in a later one. */
export type NextTurn = (task: () => void) => void;

interface Reader {
  readonly assigned: AssignedPartition;
  readonly log: PartitionLog;
  readonly stopWaking: () => void;
  next: number;
  paused: boolean;
}

// One visit to a partition, and one turn of the event loop: whatever ends first.
const visitRecords = 32;
const visitBytes = 256 * 1024;
const turnRecords = 256;

/**
 * {@link RecordSource} over the logs of this process, its only member: all partitions are assigned at subscription.
 * Delivery goes round robin over the partitions, in slices that leave the event loop free between them, and only of
 * records that are durable. Unsubscribing stops at once.
 */
export class EmbeddedSource implements RecordSource {
  readonly event$: Observable<SourceEvent>;
  readonly #group: string;
  readonly #names: readonly string[];
  readonly #topics: Topics;
  readonly #offsets: Offsets;
  readonly #clusterId: string;
  readonly #nextTurn: NextTurn;
  #readers: Reader[] = [];
  #subscriber: Subscriber<SourceEvent> | undefined;
  #used = false;
  #scheduled = false;
  #turn = 0;

  constructor(
    group: string,
    names: readonly string[],
    topics: Topics,
    offsets: Offsets,
    clusterId: string,
    nextTurn: NextTurn,
  ) {
    this.#group = group;
    this.#names = names;
    this.#topics = topics;
    this.#offsets = offsets;
    this.#clusterId = clusterId;
    this.#nextTurn = nextTurn;
    this.event$ = new Observable((subscriber) => this.#join(subscriber));
  }

  clusterId(): string {
    return this.#clusterId;
  }

  pause(partition: AssignedPartition): void {
    const reader = this.#readerOf(partition);
    if (reader !== undefined) reader.paused = true;
  }

  resume(partition: AssignedPartition): void {
    const reader = this.#readerOf(partition);
    if (reader === undefined) return;
    reader.paused = false;
    this.#wake();
  }

  commit(commits: readonly Commit[]): Observable<void> {
    return new Observable<void>((subscriber) => {
      for (const { partition, offset, metadata } of commits) {
        if (this.#readerOf(partition) === undefined) continue;
        this.#offsets.put(this.#group, partition, { offset, metadata: metadata === '' ? null : metadata });
        this.#topics.need(this, partition.topic, partition.partition, offset);
      }
      this.#offsets.whenDurable(() => {
        subscriber.next();
        subscriber.complete();
      });
    });
  }

  ready(): boolean {
    return this.#subscriber !== undefined;
  }

  #join(subscriber: Subscriber<SourceEvent>): () => void {
    if (this.#used) throw new LarkspurError('internal', 'a source can be subscribed once; open another one');
    this.#used = true;
    this.#subscriber = subscriber;
    this.#readers = this.#names.flatMap((name) => this.#readersOf(name));
    for (const { assigned, next } of this.#readers) {
      const { metadata = null } = this.#offsets.get(this.#group, assigned) ?? {};
      subscriber.next({ kind: 'assigned', partition: assigned, fromOffset: next, metadata });
    }
    this.#wake();
    return () => this.#leave();
  }

  #readersOf(name: string): Reader[] {
    return this.#topics.get(name).partitions.map((log, partition) => {
      const assigned: AssignedPartition = { topic: name, partition, epoch: 1 };
      // Retention may have passed the commit; a log shorter than its commit is one that was put back from a copy.
      const committed = this.#offsets.get(this.#group, assigned)?.offset ?? 0;
      const next = Math.min(Math.max(committed, log.first), log.end);
      this.#topics.need(this, name, partition, next);
      return { assigned, log, next, paused: false, stopWaking: log.onAppend(() => this.#wake()) };
    });
  }

  #leave(): void {
    for (const { assigned, stopWaking } of this.#readers) {
      stopWaking();
      this.#topics.need(this, assigned.topic, assigned.partition, undefined);
    }
    this.#readers = [];
    this.#subscriber = undefined;
  }

  #readerOf(partition: AssignedPartition): Reader | undefined {
    return this.#readers.find((reader) => reader.assigned === partition);
  }

  #wake(): void {
    if (this.#scheduled || this.#subscriber === undefined) return;
    this.#scheduled = true;
    this.#nextTurn(() => {
      this.#scheduled = false;
      if (this.#deliverTurn()) this.#wake();
    });
  }

  /** One turn's worth of records; returns whether there may be more. */
  #deliverTurn(): boolean {
    let budget = turnRecords;
    for (let idle = 0; idle < this.#readers.length && budget > 0; this.#turn++) {
      const reader = this.#readers[this.#turn % this.#readers.length];
      const delivered = reader === undefined ? 0 : this.#visit(reader);
      budget -= delivered;
      idle = delivered === 0 ? idle + 1 : 0;
    }
    return budget <= 0;
  }

  #isHeld(reader: Reader): boolean {
    return reader.paused || this.#subscriber === undefined;
  }

  #visit(reader: Reader): number {
    if (this.#isHeld(reader) || reader.next >= reader.log.end) return 0;
    const slice = sliceOf(reader);
    let delivered = 0;
    for (const [offset, blob] of slice) {
      // The receiver may pause or leave inside `next`: the rest is read again later.
      if (this.#isHeld(reader)) return delivered;
      const { assigned } = reader;
      reader.next = offset + 1;
      delivered++;
      const record = toInRecord(assigned.topic, assigned.partition, offset, blob);
      this.#subscriber?.next({ kind: 'record', partition: assigned, record });
    }
    if (slice.length === 0) reader.next = reader.log.end;
    return delivered;
  }
}

/** Copied before delivery, so that no cursor is open while the receiver writes. */
function sliceOf({ log, next }: Reader): (readonly [number, Buffer])[] {
  const slice: (readonly [number, Buffer])[] = [];
  let bytes = 0;
  for (const entry of log.from(next)) {
    slice.push(entry);
    bytes += entry[1].length;
    if (slice.length >= visitRecords || bytes >= visitBytes) break;
  }
  return slice;
}
