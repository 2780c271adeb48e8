/** Header names in the order they came; a name may carry several values, as Kafka allows. Bytes are never changed. */
export type RecordHeaders = readonly (readonly [name: string, value: Buffer])[];

/** A place in the input, unique per cluster and topic life. */
export interface Position {
  /** Logical topic name, without the configured prefix: `calls`, `retry.10s`. */
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

/** One record as it was read. `key` and `value` are copies: they do not pin the driver's fetch buffer. */
export interface InRecord extends Position {
  /** The broker's or producer's time, epoch milliseconds. */
  readonly timestampMs: number;
  readonly key: Buffer | null;
  /** `null` is a tombstone. */
  readonly value: Buffer | null;
  readonly headers: RecordHeaders;
}

/** One record to be written. */
export interface OutRecord {
  readonly topic: string;
  /** Absent: the sink chooses it from the key as Kafka's Java client does (murmur2), or in turn where there is none. */
  readonly partition?: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: RecordHeaders;
}

/** The last value of a header, as text, or `undefined` when it is absent. */
export function headerText(headers: RecordHeaders, name: string): string | undefined {
  for (let i = headers.length - 1; i >= 0; i--) {
    const header = headers[i];
    if (header?.[0] === name) return header[1].toString('utf8');
  }
  return undefined;
}

/** `cluster/topic/partition/offset/timestamp`: names one record for ever, also after its topic was re-created. */
export function originOf(cluster: string, record: InRecord): string {
  return `${cluster}/${record.topic}/${record.partition}/${record.offset}/${record.timestampMs}`;
}

/** What an origin names, `undefined` for text that is none. */
export function placeOf(
  origin: string,
): (Position & { readonly cluster: string; readonly timestampMs: number }) | undefined {
  const [cluster, topic, ...numbers] = origin.split('/');
  const [partition, offset, timestampMs] = numbers.map(Number);
  if (cluster === undefined || topic === undefined || numbers.length !== 3) return undefined;
  if (partition === undefined || offset === undefined || timestampMs === undefined) return undefined;
  if (!Number.isSafeInteger(partition) || !Number.isSafeInteger(offset) || Number.isNaN(timestampMs)) return undefined;
  return { cluster, topic, partition, offset, timestampMs };
}

/** Bytes a record holds in a buffer: what watermarks count. */
export function sizeOf(record: Pick<InRecord, 'key' | 'value' | 'headers'>): number {
  let bytes = (record.key?.length ?? 0) + (record.value?.length ?? 0);
  for (const [name, value] of record.headers) bytes += name.length + value.length;
  return bytes;
}
