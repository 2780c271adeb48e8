// One record of Kafka's record batch, version 2 (KIP-98): length, attributes, timestamp delta, offset delta, key, value,
// headers; numbers are zigzag varints, byte strings carry their length, -1 for none.

/** What kafkajs's decoder offers of itself. */
export interface Decoder {
  readonly buffer: Buffer;
  offset: number;
  readInt8(): number;
  readInt32(): number;
  readVarInt(): number;
  readVarIntBytes(): Buffer | null;
  readVarIntString(): string;
  canReadBytes(count: number): boolean;
  readBytes(count: number): Buffer;
}

/** What the batch tells about each of its records. */
export interface BatchContext {
  readonly firstOffset: string;
  readonly firstTimestamp: string;
  readonly maxTimestamp: string;
  readonly magicByte: number;
  readonly isControlBatch: boolean;
  readonly timestampType: number;
}

type Bytes = Buffer | string | null | undefined;

/** A record as it is handed to kafkajs's producer. Headers: a list, or its own form, an object of values or lists. */
export interface UnencodedRecord {
  readonly key?: Bytes;
  readonly value?: Bytes;
  readonly headers?: readonly (readonly [string, Bytes])[] | Readonly<Record<string, Bytes | readonly Bytes[]>>;
}

const logAppendTime = 1;
// What is as short is read and written by hand: to call into the engine costs more.
const shortBytes = 32;
const lastOfOneByte = 0x7f;

/** Reads one record; headers come as a list of names and values in the order they were written. */
export function decodeRecord(decoder: Decoder, batch: BatchContext): object {
  const attributes = decoder.readInt8();
  const sinceFirstMs = readLong(decoder);
  const appended = batch.timestampType === logAppendTime;
  const timestamp = appended ? batch.maxTimestamp : String(Number(batch.firstTimestamp) + sinceFirstMs);
  const offset = String(Number(batch.firstOffset) + decoder.readVarInt());
  const key = decoder.readVarIntBytes();
  const value = decoder.readVarIntBytes();
  const headers: [string, Buffer | null][] = [];
  for (let left = decoder.readVarInt(); left > 0; left--) {
    headers.push([decoder.readVarIntString(), decoder.readVarIntBytes()]);
  }
  const { magicByte, isControlBatch: isControlRecord } = batch;
  return { magicByte, attributes, timestamp, offset, key, value, headers, isControlRecord, batchContext: batch };
}

// Seven bits each: 64 of them at most.
const mostLongBytes = 10;

/** A number of up to 64 bits, exact below 2^52. The driver makes several big integers of each of its bytes. */
function readLong(decoder: Decoder): number {
  let read = 0;
  let factor = 1;
  for (let count = 0; count < mostLongBytes; count++) {
    const byte = decoder.buffer[decoder.offset++] ?? 0;
    read += (byte & lastOfOneByte) * factor;
    if (byte <= lastOfOneByte) return read % 2 === 0 ? read / 2 : -(read + 1) / 2;
    factor *= 128;
  }
  throw new RangeError(`a number of more than ${mostLongBytes} bytes`);
}

/** Bytes of a record without its length in front: what {@link writeRecord} must be told. */
export function bodyBytesOf(record: UnencodedRecord, offsetDelta: number, sinceFirstMs: number): number {
  const headers = listOf(record.headers);
  let bytes = 1 + sizeOfNumber(sinceFirstMs) + sizeOfNumber(offsetDelta) + sizeOfNumber(headers.length);
  bytes += sizeOfBytes(record.key) + sizeOfBytes(record.value);
  for (const [name, value] of headers) bytes += sizeOfBytes(name) + sizeOfBytes(value);
  return bytes;
}

/** Writes a record with its length at `at`; returns where it ends. */
export function writeRecord(
  buf: Buffer,
  at: number,
  record: UnencodedRecord,
  bodyBytes: number,
  offsetDelta: number,
  sinceFirstMs: number,
): number {
  const headers = listOf(record.headers);
  at = writeNumber(buf, at, bodyBytes);
  buf[at++] = 0;
  at = writeNumber(buf, at, sinceFirstMs);
  at = writeNumber(buf, at, offsetDelta);
  at = writeBytes(buf, at, record.key);
  at = writeBytes(buf, at, record.value);
  at = writeNumber(buf, at, headers.length);
  for (const [name, value] of headers) at = writeBytes(buf, writeBytes(buf, at, name), value);
  return at;
}

/** Bytes of a number: 1 to 10. */
export function sizeOfNumber(value: number): number {
  let size = 1;
  for (let rest = zigzag(value); rest >= 128; rest = Math.floor(rest / 128)) size += 1;
  return size;
}

const noHeaders: readonly (readonly [string, Bytes])[] = [];

function listOf(headers: UnencodedRecord['headers']): readonly (readonly [string, Bytes])[] {
  if (headers === undefined) return noHeaders;
  return isList(headers) ? headers : Object.entries(headers).flatMap(([name, values]) => named(name, values));
}

function isList(headers: NonNullable<UnencodedRecord['headers']>): headers is readonly (readonly [string, Bytes])[] {
  return Array.isArray(headers);
}

function named(name: string, values: Bytes | readonly Bytes[]): [string, Bytes][] {
  return (Array.isArray(values) ? values : [values]).map((value: Bytes) => [name, value]);
}

function sizeOfBytes(bytes: Bytes): number {
  if (bytes === null || bytes === undefined) return 1;
  const length = lengthOf(bytes);
  return sizeOfNumber(length) + length;
}

function writeBytes(buf: Buffer, at: number, bytes: Bytes): number {
  if (bytes === null || bytes === undefined) return writeNumber(buf, at, -1);
  const length = lengthOf(bytes);
  at = writeNumber(buf, at, length);
  if (typeof bytes === 'string') writeText(buf, at, bytes, length);
  else if (length <= shortBytes) for (let i = 0; i < length; i++) buf[at + i] = bytes[i] ?? 0;
  else buf.set(bytes, at);
  return at + length;
}

function writeText(buf: Buffer, at: number, text: string, bytes: number): void {
  // As long in bytes as in characters: all of them are of one byte.
  if (bytes === text.length && bytes <= shortBytes) for (let i = 0; i < bytes; i++) buf[at + i] = text.charCodeAt(i);
  else buf.write(text, at);
}

function lengthOf(bytes: Buffer | string): number {
  if (typeof bytes !== 'string') return bytes.length;
  if (bytes.length > shortBytes) return Buffer.byteLength(bytes);
  for (let i = 0; i < bytes.length; i++) if (bytes.charCodeAt(i) > lastOfOneByte) return Buffer.byteLength(bytes);
  return bytes.length;
}

function writeNumber(buf: Buffer, at: number, value: number): number {
  let rest = zigzag(value);
  for (; rest >= 128; rest = Math.floor(rest / 128)) buf[at++] = (rest % 128) + 128;
  buf[at++] = rest;
  return at;
}

/** Small numbers of either sign become small ones without a sign. Exact below 2^52. */
function zigzag(value: number): number {
  return value >= 0 ? value * 2 : -value * 2 - 1;
}
