import type { OutRecord } from '../../model/record.ts';

import { encodeRecord, timeOf, totalOf } from './record-codec.ts';
import type { BlobLog, Store, Table } from './store.ts';

/** What of a log may be dropped. */
export interface Retention {
  /** Records with an older time may go. */
  readonly olderThanMs: number;
  /** The oldest may go while the partition holds more than this. */
  readonly maxBytes: number;
  /** Records from this offset on stay in any case: somebody has yet to read them. */
  readonly keepFrom: number;
}

/** The durable append log of one partition. Offsets count up from 0 and are never used twice, also after a purge. */
export class PartitionLog {
  readonly #blobs: BlobLog;
  readonly #store: Store;
  // Remembers where offsets go on when a purge has emptied the log.
  readonly #ends: Table<number>;
  readonly #name: string;
  readonly #appended = new Set<() => void>();
  #next: number;
  #durableEnd: number;
  #totalBytes: number;

  constructor(store: Store, ends: Table<number>, topic: string, partition: number) {
    this.#store = store;
    this.#ends = ends;
    this.#name = `${topic}/${partition}`;
    this.#blobs = store.log(topic, partition);
    const last = this.#blobs.last();
    this.#next = last === undefined ? (ends.get(this.#name) ?? 0) : last + 1;
    this.#durableEnd = this.#next;
    this.#totalBytes = 0;
    if (last !== undefined) for (const [, blob] of this.#blobs.from(last)) this.#totalBytes = totalOf(blob);
  }

  /** Offset of the first record that is still there; {@link end} when there is none. */
  get first(): number {
    return this.#blobs.first() ?? this.#durableEnd;
  }

  /** One more than the last durable offset. */
  get end(): number {
    return this.#durableEnd;
  }

  /** Writes at the end; `done` gets the offset once the record is durable and readers can see it. */
  append(record: OutRecord, timestampMs: number, done: (offset: number) => void): void {
    const offset = this.#next++;
    const blob = encodeRecord(record, timestampMs, this.#totalBytes);
    this.#totalBytes = totalOf(blob);
    this.#blobs.put(offset, blob);
    this.#store.whenDurable(() => {
      this.#durableEnd = offset + 1;
      done(offset);
      for (const wake of this.#appended) wake();
    });
  }

  /** Durable records from `offset` on. */
  from(offset: number): IterableIterator<readonly [offset: number, blob: Buffer]> {
    return this.#blobs.from(offset);
  }

  /** Calls `wake` after each append that readers can see. Returns the end of it. */
  onAppend(wake: () => void): () => void {
    this.#appended.add(wake);
    return () => void this.#appended.delete(wake);
  }

  /** Drops at most `limit` of the oldest records that the retention allows; tells how many. */
  purge(retention: Retention, limit: number): number {
    let dropped = 0;
    for (const [offset, blob] of this.#blobs.from(0)) {
      const heldBytes = this.#totalBytes - totalOf(blob) + blob.length;
      const tooOld = timeOf(blob) < retention.olderThanMs;
      if (dropped >= limit || offset >= retention.keepFrom || !(tooOld || heldBytes > retention.maxBytes)) break;
      this.#blobs.remove(offset);
      dropped++;
    }
    if (dropped > 0) this.#ends.put(this.#name, this.#next);
    return dropped;
  }
}
