// One record of Kafka's record batch, version 2 (KIP-98): length, attributes, timestamp delta, offset delta, key, value,
// headers; numbers are zigzag varints, byte strings carry their length, -1 for none.

/** What kafkajs's decoder offers of itself. */
export interface Decoder {
  readonly buffer: Buffer;
  readonly offset: number;
  readInt8(): number;
  readInt32(): number;
  readVarInt(): number;
  readVarLong(): { toNumber(): number };
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
  readonly offsetDelta?: number;
  readonly timestampDelta?: number;
  readonly key?: Bytes;
  readonly value?: Bytes;
  readonly headers?: readonly (readonly [string, Bytes])[] | Readonly<Record<string, Bytes | readonly Bytes[]>>;
}

const logAppendTime = 1;

/** Reads one record; headers come as a list of names and values in the order they were written. */
export function decodeRecord(decoder: Decoder, batch: BatchContext): object {
  const attributes = decoder.readInt8();
  const sinceFirstMs = decoder.readVarLong().toNumber();
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

/** Writes one record into a single buffer of the right size, in the shape that kafkajs takes for an encoder of its own. */
export function encodeRecord(record: UnencodedRecord): { readonly buf: Buffer; readonly buffer: Buffer } {
  const { offsetDelta = 0, timestampDelta = 0 } = record;
  const key = bytesOf(record.key);
  const value = bytesOf(record.value);
  const headers = listOf(record.headers);
  let body = 1 + sizeOfNumber(timestampDelta) + sizeOfNumber(offsetDelta) + sizeOfBytes(key) + sizeOfBytes(value);
  body += sizeOfNumber(headers.length);
  for (const [name, header] of headers) body += sizeOfBytes(name) + sizeOfBytes(header);
  const buf = Buffer.allocUnsafe(sizeOfNumber(body) + body);
  let at = writeNumber(buf, 0, body);
  buf[at++] = 0;
  at = writeNumber(buf, at, timestampDelta);
  at = writeNumber(buf, at, offsetDelta);
  at = writeBytes(buf, at, key);
  at = writeBytes(buf, at, value);
  at = writeNumber(buf, at, headers.length);
  for (const [name, header] of headers) at = writeBytes(buf, writeBytes(buf, at, name), header);
  return { buf, buffer: buf };
}

function listOf(headers: UnencodedRecord['headers']): (readonly [Buffer, Buffer | null])[] {
  if (headers === undefined) return [];
  const entries = isList(headers) ? headers : Object.entries(headers).flatMap(([name, values]) => named(name, values));
  return entries.map(([name, value]) => [Buffer.from(name), bytesOf(value)]);
}

function isList(headers: NonNullable<UnencodedRecord['headers']>): headers is readonly (readonly [string, Bytes])[] {
  return Array.isArray(headers);
}

function named(name: string, values: Bytes | readonly Bytes[]): [string, Bytes][] {
  return (Array.isArray(values) ? values : [values]).map((value: Bytes) => [name, value]);
}

function bytesOf(value: Bytes): Buffer | null {
  if (value === null || value === undefined) return null;
  return Buffer.isBuffer(value) ? value : Buffer.from(value);
}

function sizeOfBytes(bytes: Buffer | null): number {
  return bytes === null ? 1 : sizeOfNumber(bytes.length) + bytes.length;
}

function writeBytes(buf: Buffer, at: number, bytes: Buffer | null): number {
  if (bytes === null) return writeNumber(buf, at, -1);
  const start = writeNumber(buf, at, bytes.length);
  bytes.copy(buf, start);
  return start + bytes.length;
}

function sizeOfNumber(value: number): number {
  let size = 1;
  for (let rest = zigzag(value); rest >= 128; rest = Math.floor(rest / 128)) size += 1;
  return size;
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
