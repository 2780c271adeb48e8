import type { KafkaMessage } from 'kafkajs';

import { crc32c } from './crc32c.ts';
import { countedFrom, lengthAt, sumAt, summedFrom } from './wire-batch.ts';

/** Why a batch must not be read, `undefined` for a sound one and for one that was cut. */
export function damageOf(bytes: Buffer, at: number): string | undefined {
  const end = at + countedFrom + bytes.readInt32BE(at + lengthAt);
  if (end > bytes.length || end < at + summedFrom) return undefined;
  const written = bytes.readUInt32BE(at + sumAt);
  if (crc32c(bytes, at + summedFrom, end) === written) return undefined;
  return `the checksum of the batch at offset ${bytes.readBigInt64BE(at)} does not fit: it was damaged after it was written`;
}

/** A batch of which no record can be had. */
export interface Unreadable {
  readonly why: string;
  /** The offset at which it begins. */
  readonly from: number;
}

interface Mark {
  readonly unreadable: Unreadable;
}

/** Stands in the place of the batch at `bytes[at]`, which cannot be read. */
export function unreadable(why: string, bytes: Buffer, at: number): object {
  const from = Number(bytes.readBigInt64BE(at));
  // Beyond any position, or the driver takes it for one that was read before.
  const offset = String(Number.MAX_SAFE_INTEGER);
  const empty = { magicByte: 2, attributes: 0, timestamp: '0', key: null, value: null, headers: [] };
  return { ...empty, offset, isControlRecord: false, unreadable: { why, from } } satisfies Mark &
    Record<string, unknown>;
}

/** What cannot be read from here on, if the message is such a mark. */
export function unreadableIn(message: KafkaMessage): Unreadable | undefined {
  return (message as Partial<Mark>).unreadable;
}
