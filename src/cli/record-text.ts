import { isUtf8 } from 'node:buffer';

import type { InRecord } from '../model/record.ts';

/** Bytes for a JSON document: text where they are UTF-8, else base64, told apart by the shape. */
type Shown = string | { readonly base64: string } | null;

/** A record as one line of JSON. A value that is JSON stands as such; bytes that are no text stand as base64. */
export function recordAsJson(record: InRecord): string {
  const { topic, partition, offset, timestampMs, key, value, headers } = record;
  return JSON.stringify({
    topic,
    partition,
    offset,
    timestamp: new Date(timestampMs).toISOString(),
    key: shown(key),
    headers: headers.map(([name, bytes]) => [name, shown(bytes)]),
    value: parsed(value),
  });
}

/** A record for people: a head line, its headers, its value. Nothing in it can steer a terminal. */
export function recordAsText(record: InRecord): string {
  const { topic, partition, offset, timestampMs, key, value, headers } = record;
  const keyText = key === null ? 'no key' : `key ${line(shown(key))}`;
  const head = `${topic}/${partition}/${offset}  ${new Date(timestampMs).toISOString()}  ${keyText}`;
  const headerLines = headers.map(([name, bytes]) => `  ${safe(name)}: ${line(shown(bytes))}`);
  return [head, ...headerLines, `  ${value === null ? '(tombstone)' : line(shown(value))}`].join('\n');
}

function shown(bytes: Buffer | null): Shown {
  if (bytes === null) return null;
  return isUtf8(bytes) ? bytes.toString('utf8') : { base64: bytes.toString('base64') };
}

function parsed(value: Buffer | null): unknown {
  const text = shown(value);
  if (typeof text !== 'string') return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function line(bytes: Shown): string {
  if (bytes === null) return '(none)';
  return typeof bytes === 'string' ? safe(bytes) : `base64:${bytes.base64}`;
}

// C0 and C1 controls and what turns the direction of writing: a record comes from anybody.
const controls = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

function safe(text: string): string {
  return text.replace(controls, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
