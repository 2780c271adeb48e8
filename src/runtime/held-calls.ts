import { defer, EMPTY, merge, mergeMap, type Observable, of, reduce } from 'rxjs';

import { firstOrigin, roundOf } from '../model/dead-letter.ts';
import { delayTopics } from '../model/delay-topics.ts';
import { heldStateOf, notBeforeOf } from '../model/held.ts';
import { jsonOrText } from '../model/json-levels.ts';
import { type InRecord, placeOf } from '../model/record.ts';
import { isTree } from '../model/schema-words.ts';
import type { HeldCall } from '../pipeline/explain/explain-held.ts';
import type { TopicReader } from '../ports/topic-reader.ts';

type Scan = Pick<TopicReader, 'scan'>;

/** The newest record of a call in the delay topics, or `undefined`. Reads them all; emits once. */
export function newestHeld(reader: Scan, id: string): Observable<HeldCall | undefined> {
  return eachHeld(reader).pipe(
    reduce<HeldCall, HeldCall | undefined>((found, held) => {
      const newer = held.record.timestampMs >= (found?.record.timestampMs ?? -Infinity);
      return newer && held.id === id ? held : found;
    }, undefined),
  );
}

/** The first call of its key that was outside when this one went there to stand behind it, or `undefined`. Emits once. */
export function firstOfLine(reader: Scan, held: HeldCall): Observable<HeldCall | undefined> {
  return eachHeld(reader).pipe(
    reduce<HeldCall, HeldCall | undefined>((first, other) => {
      const isBefore = offsetOf(other) < offsetOf(held) && offsetOf(other) <= offsetOf(first ?? held);
      return isBefore && isOfLine(other, held) ? other : first;
    }, undefined),
  );
}

/** The call in a record of a delay topic; `undefined` for one that is none. */
export function heldIn(record: InRecord): HeldCall | undefined {
  const state = heldStateOf(record);
  if (state === undefined) return undefined;
  const key = given(record, 'orderingKey') ?? record.key?.toString('utf8');
  return { id: nameIn(record, state.origin), key, record, state };
}

/** What names the call of a record that is read from `calls` or a delay topic. */
export function nameIn(record: InRecord, origin: string): string {
  return given(record, 'id') ?? (roundOf(record) > 0 ? firstOrigin(record) : undefined) ?? origin;
}

function given({ value }: InRecord, field: 'id' | 'orderingKey'): string | undefined {
  const call = jsonOrText(value?.toString('utf8') ?? '');
  return isTree(call) && typeof call[field] === 'string' ? call[field] : undefined;
}

function eachHeld(reader: Scan): Observable<HeldCall> {
  return defer(() => merge(...delayTopics.map((topic) => reader.scan(topic)))).pipe(
    mergeMap((record) => {
      const held = heldIn(record);
      return held === undefined ? EMPTY : of(held);
    }),
  );
}

/** Where the call first stood. */
function offsetOf({ state }: HeldCall): number {
  return placeOf(state.origin)?.offset ?? Infinity;
}

function isOfLine(first: HeldCall, held: HeldCall): boolean {
  const sameKey = first.key !== undefined && first.key === held.key && first.record.partition === held.record.partition;
  return sameKey && first.state.why !== 'order' && notBeforeOf(first.state, first.record) >= held.record.timestampMs;
}
