import { crc32c } from './crc32c.ts';
import { bodyBytesOf, sizeOfNumber, type UnencodedRecord, writeRecord } from './wire-record.ts';

// Fields of a record batch, version 2 (KIP-98), in bytes from its beginning.
/** An int32. */
export const lengthAt = 8;
/** What the length counts begins here. */
export const countedFrom = 12;
const magicAt = 16;
/** A uint32. */
export const sumAt = 17;
/** What the checksum covers begins here. */
export const summedFrom = 21;
const recordsAt = 61;

const magic = 2;
const transactionalBit = 16;

/** A record with its time, epoch milliseconds; without one it is of the moment it is sent. */
export interface DatedRecord extends UnencodedRecord {
  readonly timestamp?: string | number | null;
}

/** What a batch tells of its making. */
export interface BatchOrigin {
  readonly producer: { readonly id: bigint; readonly epoch: number; readonly transactional: boolean };
  readonly firstSequence: number;
  /** Number of the codec; 0: none. */
  readonly compression: number;
}

/** One of kafkajs's codecs. It takes what it takes for an encoder. */
export interface Codec {
  compress(encoder: { readonly buffer: Buffer }): Promise<Buffer>;
}

/** Records of one partition on their way into a request: measured first, then written straight to where they belong. */
export class RecordBatch {
  readonly #records: readonly DatedRecord[];
  readonly #origin: BatchOrigin;
  /** Of each record. */
  readonly #bodyBytes: number[] = [];
  readonly #nowMs: number;
  readonly #firstMs: string | number;
  readonly #lastMs: string | number;
  #recordsBytes = 0;
  #compressed: Buffer | undefined;

  constructor(records: readonly DatedRecord[], origin: BatchOrigin, nowMs: number) {
    this.#records = records;
    this.#origin = origin;
    this.#nowMs = nowMs;
    [this.#firstMs, this.#lastMs] = spanOf(records) ?? [nowMs, nowMs];
    let index = 0;
    for (const record of records) {
      const bytes = bodyBytesOf(record, index++, this.#sinceFirstMs(record));
      this.#bodyBytes.push(bytes);
      this.#recordsBytes += sizeOfNumber(bytes) + bytes;
    }
  }

  get bytes(): number {
    return recordsAt + (this.#compressed?.length ?? this.#recordsBytes);
  }

  async compress(codec: Codec): Promise<void> {
    const buffer = Buffer.allocUnsafe(this.#recordsBytes);
    this.#writeRecords(buffer, 0);
    this.#compressed = await codec.compress({ buffer });
  }

  /** Writes all of it at `at`; returns where it ends. */
  writeTo(buf: Buffer, at: number): number {
    const { producer, firstSequence, compression } = this.#origin;
    const end = at + this.bytes;
    const count = this.#records.length;
    buf.fill(0, at, at + lengthAt);
    buf.writeInt32BE(end - at - countedFrom, at + lengthAt);
    buf.writeInt32BE(0, at + countedFrom);
    buf[at + magicAt] = magic;
    let head = buf.writeInt16BE(compression | (producer.transactional ? transactionalBit : 0), at + summedFrom);
    head = buf.writeInt32BE(count - 1, head);
    head = buf.writeBigInt64BE(BigInt(this.#firstMs), head);
    head = buf.writeBigInt64BE(BigInt(this.#lastMs), head);
    head = buf.writeBigInt64BE(producer.id, head);
    head = buf.writeInt16BE(producer.epoch, head);
    head = buf.writeInt32BE(firstSequence, head);
    head = buf.writeInt32BE(count, head);
    if (this.#compressed === undefined) this.#writeRecords(buf, head);
    else buf.set(this.#compressed, head);
    buf.writeUInt32BE(crc32c(buf, at + summedFrom, end), at + sumAt);
    return end;
  }

  #writeRecords(buf: Buffer, at: number): void {
    let index = 0;
    for (const record of this.#records) {
      at = writeRecord(buf, at, record, this.#bodyBytes[index] ?? 0, index++, this.#sinceFirstMs(record));
    }
  }

  #sinceFirstMs({ timestamp }: DatedRecord): number {
    return Number(timestamp || this.#nowMs) - Number(this.#firstMs);
  }
}

/** The first and the last of the times that records bring along, in the order of their text, as kafkajs has it. */
function spanOf(records: readonly DatedRecord[]): [string | number, string | number] | undefined {
  let span: [string | number, string | number] | undefined;
  for (const { timestamp } of records) {
    if (timestamp === undefined || timestamp === null) continue;
    span ??= [timestamp, timestamp];
    if (String(timestamp) < String(span[0])) span[0] = timestamp;
    if (String(timestamp) > String(span[1])) span[1] = timestamp;
  }
  return span;
}
