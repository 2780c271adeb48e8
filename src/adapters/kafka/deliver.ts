import type { SourceEvent } from '../../ports/record-source.ts';

import { type Fetched, lastOf, restOf } from './fetched.ts';
import type { Held } from './partition-table.ts';
import { inRecordOf } from './record.ts';
import { unreadableIn } from './unreadable.ts';

/** What came of a delivery. */
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
  /** Of a partition that is paused in the midst of a fetch, so much is kept in `held.rest`. */
  readonly maxRestBytes: number;
}

/** Emits messages in order, until there are no more, the receiver pauses or leaves, or one cannot be read. */
export function deliver(held: Held, { batch, at, until }: Fetched, receiver: Receiver): Delivered {
  const from = held.next ?? 0;
  let taken: string | undefined;
  held.rest = undefined;
  for (const [index, message] of batch.messages.slice(at, until).entries()) {
    const broken = unreadableIn(message);
    if (broken !== undefined) return { taken, broken: broken.why };
    const offset = Number(message.offset);
    if (offset < from) continue;
    taken = message.offset;
    held.next = offset + 1;
    const record = inRecordOf(held.assigned.topic, batch.partition, offset, message);
    receiver.emit({ kind: 'record', partition: held.assigned, record });
    // The receiver may pause, leave or fail inside `emit`.
    if (!receiver.takes(held)) return { taken };
    if (isPaused(held)) {
      held.rest = restOf(batch, at + index + 1, receiver.maxRestBytes);
      return { taken: held.rest === undefined ? taken : lastOf(held.rest) };
    }
  }
  const last = lastOf({ batch, at, until });
  held.next = Math.max(from, Number(last) + 1);
  return { taken: last };
}

// Behind a function, since `emit` changes it unseen by the compiler.
function isPaused(held: Held): boolean {
  return held.paused;
}
