import type { KafkaMessage } from 'kafkajs';

import type { FetchedBatch } from './alarms.ts';

/** Messages of a batch that were fetched and are to be delivered. */
export interface Fetched {
  readonly batch: FetchedBatch;
  /** Index of the next message. */
  readonly at: number;
  /** Index after the last message; what follows in the batch is fetched again. */
  readonly until: number;
}

// What a message takes beside its own bytes.
const messageBytes = 100;

/** The last offset of what was fetched. */
export function lastOf({ batch, until }: Fetched): string {
  // Offsets have gaps (compaction, transactions): the batch knows its end better than its last record does.
  return (until < batch.messages.length ? batch.messages[until - 1]?.offset : undefined) ?? batch.lastOffset();
}

/** What is kept from message `at` on: a batch as its producer made it may be larger than any limit of a fetch. */
export function restOf(batch: FetchedBatch, at: number, maxBytes: number): Fetched | undefined {
  const { messages } = batch;
  let until = at;
  let leftBytes = maxBytes;
  while (until < messages.length && (leftBytes -= bytesOf(messages[until])) >= 0) until += 1;
  return until === at ? undefined : { batch, at, until };
}

function bytesOf(message: KafkaMessage | undefined): number {
  return messageBytes + (message?.key?.length ?? 0) + (message?.value?.length ?? 0);
}
