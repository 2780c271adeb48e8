import type { IHeaders, KafkaMessage, Message } from 'kafkajs';

import type { InRecord, OutRecord, RecordHeaders } from '../../model/record.ts';

import { takesBundles } from './patches.ts';
import { Bundle } from './produce-request.ts';

const noHeaders: RecordHeaders = [];

/** One message of the driver as a record. All bytes are copied: a slice would hold the whole fetch response in memory. */
export function inRecordOf(topic: string, partition: number, offset: number, message: KafkaMessage): InRecord {
  const { key, value, headers, timestamp } = message;
  return {
    topic,
    partition,
    offset,
    timestampMs: Number(timestamp),
    key: key === null ? null : Buffer.from(key),
    value: value === null ? null : Buffer.from(value),
    headers: headersOf(headers),
  };
}

/** A list where `patches.ts` has mended the driver, else its own object of names. */
function headersOf(headers: unknown): RecordHeaders {
  if (headers === null || typeof headers !== 'object') return noHeaders;
  if (!Array.isArray(headers)) return Object.entries(headers).flatMap(([name, values]) => named(name, values));
  if (headers.length === 0) return noHeaders;
  return (headers as [string, Buffer | null][]).map(([name, value]) => [name, copyOf(value)]);
}

function named(name: string, values: unknown): [string, Buffer][] {
  return (Array.isArray(values) ? values : [values]).map((value: unknown) => [name, copyOf(value)]);
}

/** Kafka allows a header without a value; ours have bytes, so it becomes an empty one. */
function copyOf(value: unknown): Buffer {
  return Buffer.isBuffer(value) ? Buffer.from(value) : Buffer.alloc(0);
}

/** Records of one partition for the driver's producer: one bundle where `patches.ts` has mended it, else messages of its own. */
export function messagesOf(partition: number, records: readonly OutRecord[], mended = takesBundles()): Message[] {
  if (mended) return [new Bundle(partition, records)];
  return records.map(({ key, value, headers }) => ({ partition, key, value, headers: outHeadersOf(headers) }));
}

/** The driver's own form: an object of names, without a prototype, so that no name of a header can mean anything. */
function outHeadersOf(headers: RecordHeaders): IHeaders {
  const out = Object.create(null) as Record<string, Buffer | Buffer[]>;
  for (const [name, value] of headers) {
    const before = out[name];
    if (before === undefined) out[name] = value;
    else out[name] = Array.isArray(before) ? [...before, value] : [before, value];
  }
  return out;
}

/** What a record weighs on the wire, about: enough to keep a send below its limit. */
export function wireSizeOf({ key, value, headers }: OutRecord): number {
  let bytes = 24 + (key?.length ?? 0) + (value?.length ?? 0);
  for (const [name, header] of headers) bytes += 4 + name.length + header.length;
  return bytes;
}
