import { type InRecord, sizeOf } from '../../model/record.ts';

import type { FetchedBatch } from './alarms.ts';
import { inRecordOf } from './record.ts';
import { unreadableIn } from './unreadable.ts';

/** Records that were fetched and not delivered, because their receiver had enough. Copies: nothing else of the fetch is held. */
export interface Rest {
  readonly records: readonly InRecord[];
  /** Index of the next one to deliver. */
  readonly at: number;
  /** The last offset that they cover; the next fetch begins after it. */
  readonly last: string;
}

// What a record takes beside its own bytes.
const recordBytes = 200;

/**
 * What is kept of a batch from message `at` on; `undefined` for nothing. A batch is as large as its producer made it, so at most
 * `maxBytes` of it, and nothing from a message on that cannot be read: that comes again with the next fetch.
 * @param topic the logical name
 */
export function restOf(topic: string, batch: FetchedBatch, at: number, maxBytes: number): Rest | undefined {
  const { messages, partition } = batch;
  const records: InRecord[] = [];
  let last = '';
  let bytes = 0;
  for (const message of messages.slice(at)) {
    if (unreadableIn(message) !== undefined) break;
    const record = inRecordOf(topic, partition, Number(message.offset), message);
    bytes += recordBytes + sizeOf(record);
    if (bytes > maxBytes) break;
    records.push(record);
    last = message.offset;
  }
  if (records.length === 0) return undefined;
  return { records, at: 0, last: at + records.length === messages.length ? batch.lastOffset() : last };
}
