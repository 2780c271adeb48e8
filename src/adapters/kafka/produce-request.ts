import { LarkspurError } from '../../model/errors.ts';

import { type Codec, type DatedRecord, RecordBatch } from './wire-batch.ts';

// A produce request, version 3 (KIP-98): transactional id, acks, timeout, and for each topic its partitions with a batch each.

/**
 * Records of one partition, given to kafkajs as one message: for each message it copies the list of those before it. Not for
 * idempotent producers, which would count one record.
 */
export class Bundle {
  readonly partition: number;
  readonly records: readonly DatedRecord[];
  /** kafkajs asks every message for one. */
  readonly value = null;

  constructor(partition: number, records: readonly DatedRecord[]) {
    this.partition = partition;
    this.records = records;
  }

  /** What is older reads this and does not know bundles: it would write one empty record, and all would count as written. */
  get key(): never {
    throw new LarkspurError('kafka_unavailable', 'the broker is older than Kafka 0.11 and takes no headers', {
      cure: 'use Kafka 0.11 or newer',
    });
  }
}

interface PartitionData {
  readonly partition: number | string;
  readonly messages: readonly DatedRecord[];
  readonly firstSequence?: number;
}

/** What kafkajs wants written. */
export interface ProduceRequest {
  readonly acks: number;
  readonly timeout: number;
  readonly transactionalId?: string | null | undefined;
  /** 64 bits, in something that prints them. Default: -1, none. */
  readonly producerId?: number | string | { toString(): string } | undefined;
  readonly producerEpoch?: number | undefined;
  /** Number of a codec; default: 0, none. */
  readonly compression?: number | undefined;
  readonly topicData: readonly { readonly topic: string; readonly partitions: readonly PartitionData[] }[];
}

/** The whole request in one buffer of the right size: each record is written once, to where it belongs. */
export async function encodeProduce(
  request: ProduceRequest,
  codecOf: (compression: number) => Codec,
  nowMs: number,
): Promise<Buffer> {
  const { transactionalId = null, producerId = -1, producerEpoch = 0, compression = 0 } = request;
  const producer = { id: BigInt(String(producerId)), epoch: producerEpoch, transactional: Boolean(transactionalId) };
  let bytes = sizeOfText(transactionalId) + 2 + 4 + 4;
  const topics = [];
  for (const { topic, partitions } of request.topicData) {
    bytes += sizeOfText(topic) + 4;
    const batches = [];
    for (const { partition, messages, firstSequence = 0 } of partitions) {
      const batch = new RecordBatch(recordsOf(messages), { compression, producer, firstSequence }, nowMs);
      if (compression !== 0) await batch.compress(codecOf(compression));
      batches.push({ partition: Number(partition), batch });
      bytes += 4 + 4 + batch.bytes;
    }
    topics.push({ topic, batches });
  }
  const buf = Buffer.allocUnsafe(bytes);
  let at = writeText(buf, 0, transactionalId);
  at = buf.writeInt16BE(request.acks, at);
  at = buf.writeInt32BE(request.timeout, at);
  at = buf.writeInt32BE(topics.length, at);
  for (const { topic, batches } of topics) {
    at = writeText(buf, at, topic);
    at = buf.writeInt32BE(batches.length, at);
    for (const { partition, batch } of batches) {
      at = buf.writeInt32BE(partition, at);
      at = buf.writeInt32BE(batch.bytes, at);
      at = batch.writeTo(buf, at);
    }
  }
  return buf;
}

function recordsOf(messages: readonly DatedRecord[]): readonly DatedRecord[] {
  const [first] = messages;
  return first instanceof Bundle ? first.records : messages;
}

function sizeOfText(text: string | null): number {
  return 2 + (text === null ? 0 : Buffer.byteLength(text));
}

function writeText(buf: Buffer, at: number, text: string | null): number {
  if (text === null) return buf.writeInt16BE(-1, at);
  const bytes = buf.write(text, at + 2);
  buf.writeInt16BE(bytes, at);
  return at + 2 + bytes;
}
