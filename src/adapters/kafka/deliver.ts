import type { SourceEvent } from '../../ports/record-source.ts';

import type { FetchedBatch } from './alarms.ts';
import type { Held } from './partition-table.ts';
import { inRecordOf } from './record.ts';
import { type Rest, restOf } from './rest.ts';
import { unreadableIn } from './unreadable.ts';

/** What came of the delivery of a batch. */
export interface Delivered {
  /** The last offset that need not be fetched again; `undefined`: none. */
  readonly taken: string | undefined;
  /** Why the next message cannot be read. */
  readonly broken?: string;
}

/** Who gets the records. */
export interface Receiver {
  emit(event: SourceEvent): void;
  /** Whether the partition still is to be delivered; asked after each record. */
  takes(held: Held): boolean;
  /** Of a partition that is paused in the midst of a batch, so much is kept in `held.rest`. */
  readonly maxRestBytes: number;
}

/** Emits the records of a batch in order, until there are no more, the receiver pauses or leaves, or one cannot be read. */
export function deliver(held: Held, batch: FetchedBatch, receiver: Receiver): Delivered {
  const { topic } = held.assigned;
  const from = held.next ?? 0;
  let taken: string | undefined;
  let index = 0;
  for (const message of batch.messages) {
    index += 1;
    const broken = unreadableIn(message);
    if (broken !== undefined) return { taken, broken: broken.why };
    const offset = Number(message.offset);
    if (offset < from) continue;
    taken = message.offset;
    held.next = offset + 1;
    const record = inRecordOf(topic, batch.partition, offset, message);
    receiver.emit({ kind: 'record', partition: held.assigned, record });
    // The receiver may pause, leave or fail inside `emit`.
    if (!receiver.takes(held)) return { taken };
    if (isPaused(held)) {
      held.rest = restOf(topic, batch, index, receiver.maxRestBytes);
      return { taken: held.rest?.last ?? taken };
    }
  }
  // Offsets have gaps (compaction, transactions): the batch knows its end better than its last record does.
  const last = batch.lastOffset();
  held.next = Math.max(from, Number(last) + 1);
  return { taken: last };
}

/** Emits what was kept, until there is no more, or the receiver pauses or leaves. @returns whether nothing is left */
export function deliverRest(held: Held, { records, at, last }: Rest, receiver: Receiver): boolean {
  held.rest = undefined;
  for (let index = at; index < records.length; index++) {
    const record = records[index];
    if (record === undefined) break;
    held.next = record.offset + 1;
    receiver.emit({ kind: 'record', partition: held.assigned, record });
    if (!receiver.takes(held)) return false;
    if (isPaused(held) && index + 1 < records.length) {
      held.rest = { records, at: index + 1, last };
      return false;
    }
  }
  held.next = Number(last) + 1;
  return true;
}

/** A question to a function, since `emit` changes the answer unseen by the compiler. */
export function isPaused(held: Held): boolean {
  return held.paused;
}
