import { isUtf8 } from 'node:buffer';

import type { Cover } from './cover.ts';
import { jsonOrText } from './json-levels.ts';
import type { InRecord } from './record.ts';
import { isoTime } from './time.ts';

/** Bytes for a JSON document: text where they are UTF-8, else base64, told apart by the shape. */
export type ShownBytes = string | { readonly base64: string } | null;

/** A record as a JSON value, covered. A value that is JSON stands as such; bytes that are no text stand as base64. */
export function recordView(record: InRecord, cover: Cover) {
  const { topic, partition, offset, timestampMs, key, value, headers } = record;
  return {
    topic,
    partition,
    offset,
    timestamp: isoTime(timestampMs),
    key: shownBytes(key),
    headers: headers.map(([name, bytes]) => [name, shownBytes(bytes)] as const),
    value: cover.tree(parsed(value)),
  };
}

/** Bytes as text where they are text. */
export function shownBytes(bytes: Buffer | null): ShownBytes {
  if (bytes === null) return null;
  return isUtf8(bytes) ? bytes.toString('utf8') : { base64: bytes.toString('base64') };
}

function parsed(value: Buffer | null): unknown {
  const text = shownBytes(value);
  return typeof text === 'string' ? jsonOrText(text) : text;
}
