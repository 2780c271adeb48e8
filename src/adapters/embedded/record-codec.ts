import type { InRecord, OutRecord, RecordHeaders } from '../../model/record.ts';

/** A record as it lies in a log: with its time, and the bytes of its partition up to and with it (for size limits). */
export interface StoredRecord {
  readonly timestampMs: number;
  readonly totalBytes: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: RecordHeaders;
}

const fixedBytes = 8 + 8 + 4 + 4 + 2;
const none = -1;

/** Bytes a record takes in a log. */
export function storedSize(record: Pick<OutRecord, 'key' | 'value' | 'headers'>): number {
  let bytes = fixedBytes + (record.key?.length ?? 0) + (record.value?.length ?? 0);
  for (const [name, value] of record.headers) bytes += 6 + Buffer.byteLength(name) + value.length;
  return bytes;
}

/**
 * Layout, big endian: time f64, total f64, key length i32 (-1: null), value length i32 (-1: null), header count u16,
 * key, value, then per header: name length u16, value length i32, name, value.
 */
export function encodeRecord(record: OutRecord, timestampMs: number, totalBytesBefore: number): Buffer {
  const size = storedSize(record);
  const blob = Buffer.allocUnsafe(size);
  blob.writeDoubleBE(timestampMs, 0);
  blob.writeDoubleBE(totalBytesBefore + size, 8);
  blob.writeInt32BE(record.key?.length ?? none, 16);
  blob.writeInt32BE(record.value?.length ?? none, 20);
  blob.writeUInt16BE(record.headers.length, 24);
  let at = fixedBytes;
  if (record.key !== null) at += record.key.copy(blob, at);
  if (record.value !== null) at += record.value.copy(blob, at);
  for (const [name, value] of record.headers) {
    const nameBytes = blob.write(name, at + 6);
    blob.writeUInt16BE(nameBytes, at);
    blob.writeInt32BE(value.length, at + 2);
    at += 6 + nameBytes;
    at += value.copy(blob, at);
  }
  return blob;
}

/** The inverse of {@link encodeRecord}. Key, value and header values are views into the blob, which nobody else holds. */
export function decodeRecord(blob: Buffer): StoredRecord {
  const count = blob.readUInt16BE(24);
  let at = fixedBytes;
  const take = (length: number): Buffer => blob.subarray(at, (at += length));
  const nullable = (length: number): Buffer | null => (length === none ? null : take(length));
  const key = nullable(blob.readInt32BE(16));
  const value = nullable(blob.readInt32BE(20));
  const headers: (readonly [string, Buffer])[] = [];
  for (let i = 0; i < count; i++) {
    const nameBytes = blob.readUInt16BE(at);
    const valueBytes = blob.readInt32BE(at + 2);
    at += 6;
    headers.push([take(nameBytes).toString(), take(valueBytes)]);
  }
  return { timestampMs: timeOf(blob), totalBytes: totalOf(blob), key, value, headers };
}

/** A stored blob as the record that a reader gets. */
export function toInRecord(topic: string, partition: number, offset: number, blob: Buffer): InRecord {
  const { timestampMs, key, value, headers } = decodeRecord(blob);
  return { topic, partition, offset, timestampMs, key, value, headers };
}

/** Time of a stored record, without decoding the rest. */
export function timeOf(blob: Buffer): number {
  return blob.readDoubleBE(0);
}

/** Bytes of the partition up to and with a stored record. */
export function totalOf(blob: Buffer): number {
  return blob.readDoubleBE(8);
}
