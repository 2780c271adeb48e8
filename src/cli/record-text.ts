import type { Cover } from '../model/cover.ts';
import { recordView, type ShownBytes, shownBytes } from '../model/record-view.ts';
import type { InRecord } from '../model/record.ts';

/** A record as one line of JSON; see {@link recordView}. */
export function recordAsJson(record: InRecord, cover: Cover): string {
  return JSON.stringify(recordView(record, cover));
}

/** A record for people: a head line, its headers, its value. Nothing in it can steer a terminal. */
export function recordAsText(record: InRecord, cover: Cover): string {
  const { topic, partition, offset, timestampMs, key, value, headers } = record;
  const keyText = key === null ? 'no key' : `key ${line(shownBytes(key))}`;
  const head = `${topic}/${partition}/${offset}  ${new Date(timestampMs).toISOString()}  ${keyText}`;
  const headerLines = headers.map(([name, bytes]) => `  ${safe(name)}: ${line(shownBytes(bytes))}`);
  return [head, ...headerLines, `  ${value === null ? '(tombstone)' : line(covered(shownBytes(value), cover))}`].join(
    '\n',
  );
}

function covered(bytes: ShownBytes, cover: Cover): ShownBytes {
  return typeof bytes === 'string' ? String(cover.tree(bytes)) : bytes;
}

function line(bytes: ShownBytes): string {
  if (bytes === null) return '(none)';
  return typeof bytes === 'string' ? safe(bytes) : `base64:${bytes.base64}`;
}

// C0 and C1 controls and what turns the direction of writing: a record comes from anybody.
const controls = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

/** A text in which nothing can steer a terminal. */
export function safe(text: string): string {
  return text.replace(controls, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
