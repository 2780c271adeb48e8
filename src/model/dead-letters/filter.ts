import type { Fault } from '../http.ts';
import { isoTime } from '../time.ts';

import type { DeadLetterView } from './dead-letter-view.ts';

/** What dead letters can be chosen by. */
export const filterFields = [
  'reason',
  'class',
  'upstream',
  'tenant',
  'app',
  'key',
  'code',
  'path',
  'id',
] as const satisfies readonly (keyof DeadLetterView)[];

/** Which dead letters: all of those that have one of the values in each named field, and ended in [fromMs, toMs). */
export interface DeadLetterFilter {
  readonly fields: Readonly<Partial<Record<(typeof filterFields)[number], readonly string[]>>>;
  readonly fromMs?: number;
  readonly toMs?: number;
}

/** A question as it comes from a command line or a query string: values of a field stand between commas. */
export type FilterWords = Readonly<Record<string, string | undefined>>;

/** Reads a filter; names every mistake. Words that belong to something else are left alone. */
export function readFilter(words: FilterWords): {
  readonly filter: DeadLetterFilter;
  readonly faults: readonly Fault[];
} {
  const faults: Fault[] = [];
  const fields: Record<string, readonly string[]> = {};
  for (const field of filterFields) {
    const text = words[field];
    if (text === undefined) continue;
    // An id may hold a comma.
    fields[field] = field === 'id' ? [text] : text.split(',').map((value) => value.trim());
  }
  const time = (name: 'from' | 'to'): number | undefined => {
    const text = words[name];
    if (text === undefined) return undefined;
    // eslint-disable-next-line no-restricted-globals -- Date.parse reads no clock
    const atMs = Date.parse(text);
    if (Number.isNaN(atMs)) faults.push({ at: name, message: 'must be a time such as 2026-01-31T14:30:00Z' });
    return atMs;
  };
  const fromMs = time('from');
  const toMs = time('to');
  return {
    filter: { fields, ...(fromMs === undefined ? {} : { fromMs }), ...(toMs === undefined ? {} : { toMs }) },
    faults,
  };
}

/** The words that {@link readFilter} reads as this filter. */
export function filterWords({ fields, fromMs, toMs }: DeadLetterFilter): Readonly<Record<string, string>> {
  const words: Record<string, string> = {};
  for (const field of filterFields) {
    const values = fields[field];
    if (values !== undefined) words[field] = values.join(',');
  }
  if (fromMs !== undefined) words['from'] = isoTime(fromMs);
  if (toMs !== undefined) words['to'] = isoTime(toMs);
  return words;
}

/** The question again, in one order: equal filters give equal texts. */
export function filterText({ fields, fromMs, toMs }: DeadLetterFilter): string {
  const named = filterFields.flatMap((field) => {
    const values = fields[field];
    return values === undefined ? [] : [`${field}=${[...values].sort().join(',')}`];
  });
  const times = [...(fromMs === undefined ? [] : [`from=${fromMs}`]), ...(toMs === undefined ? [] : [`to=${toMs}`])];
  return [...named, ...times].join(' ') || 'all';
}

/** Whether a dead letter is among those. */
export function matches(
  view: DeadLetterView,
  { fields, fromMs = -Infinity, toMs = Infinity }: DeadLetterFilter,
): boolean {
  if (view.endedMs < fromMs || view.endedMs >= toMs) return false;
  return filterFields.every((field) => fields[field]?.includes(view[field] ?? '') ?? true);
}
