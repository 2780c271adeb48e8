import type { Fault } from '../http.ts';

import { type FilterWords, readFilter } from './filter.ts';
import { type GroupField, groupFields } from './groups.ts';

const defaultBy: readonly GroupField[] = ['reason', 'upstream', 'code'];
const defaultPerSecond = 50;
const mostRecords = 1_000;

/** Reads filter and rate; names every mistake. */
export function readOrder(words: FilterWords) {
  const { filter, faults } = readFilter(words);
  const perSecond = Number(words['rate'] ?? defaultPerSecond);
  const fault = { at: 'rate', message: 'must be records a second, more than 0' };
  return { filter, perSecond, faults: perSecond > 0 && perSecond < Infinity ? faults : [...faults, fault] };
}

/** Reads what to list; names every mistake. */
export function readListQuestion(words: FilterWords) {
  const { filter, faults } = readFilter(words);
  const by = words['by'] === undefined ? defaultBy : words['by'].split(',').map((field) => field.trim());
  const known = by.filter(isGroupField);
  const records = Number(words['records'] ?? 0);
  const more: Fault[] = [
    ...faults,
    ...(known.length === by.length ? [] : [{ at: 'by', message: `must be of ${groupFields.join(', ')}` }]),
    ...(Number.isInteger(records) && records >= 0 && records <= mostRecords
      ? []
      : [{ at: 'records', message: `must be a whole number from 0 to ${mostRecords}` }]),
  ];
  return { question: { filter, by: known, records }, faults: more };
}

/** Whether a text names a run: it becomes part of the name of a group. */
export function isRunName(text: string): boolean {
  return /^[\w.-]{1,64}$/.test(text);
}

function isGroupField(text: string): text is GroupField {
  return groupFields.some((field) => field === text);
}
