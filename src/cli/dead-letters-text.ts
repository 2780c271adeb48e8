import type { DeadLetterGroup } from '../model/dead-letters/groups.ts';
import { isoTime } from '../model/time.ts';
import type {
  DeadLetterDetail,
  DeadLetterLine,
  DeadLetterList,
  RedrivePreview,
  RunView,
} from '../runtime/dead-letters/with-desk.ts';

import { safe } from './record-text.ts';
import { table } from './table.ts';

const mostShown = 50;
const mostCell = 60;

/** A list for people. */
export function listText({ by, looked, matched, groups, records }: DeadLetterList): string {
  if (matched === 0) return `none of ${count(looked)} dead letters`;
  return [
    `${count(matched)} of ${count(looked)} dead letters`,
    groupsText(by, groups),
    ...(records.length === 0 ? [] : [linesText(records)]),
    'See one: larkspur dead-letters show PARTITION/OFFSET',
  ].join('\n');
}

/** What a redrive would do, for people. */
export function previewText({ looked, wouldSend, passedOver, seconds, groups, sample }: RedrivePreview): string {
  const { outcomeUnknown = 0, tooLate = 0 } = passedOver;
  return [
    `would send ${count(wouldSend)} of ${count(looked)} dead letters, in ${count(seconds)} s or more`,
    ...(outcomeUnknown > 0
      ? [
          `passed over: ${count(outcomeUnknown)} that may have taken effect (name them by --reason outcome_unknown or --id)`,
        ]
      : []),
    ...(tooLate > 0 ? [`passed over: ${count(tooLate)} whose own deadline has passed`] : []),
    ...(wouldSend > 0 ? [groupsText(['reason', 'upstream', 'code'], groups), linesText(sample)] : []),
  ].join('\n');
}

/** How far a run is, on one line. */
export function runText({ run, kind, state, counts, left, error }: RunView): string {
  const outcomes = Object.entries(counts).map(([outcome, number]) => `${count(number)} ${words[outcome] ?? outcome}`);
  const nothing = state === 'finished' ? 'nothing was left to do' : 'nothing yet';
  const what = outcomes.length === 0 ? nothing : outcomes.join(', ');
  const rest = left > 0 ? `; ${count(left)} to look at` : '';
  return `${kind} ${run} ${state}: ${what}${rest}${error === undefined ? '' : `; ${safe(error)}`}`;
}

const words: Readonly<Record<string, string>> = {
  outcomeUnknown: 'passed over (outcome unknown)',
  tooLate: 'passed over (deadline passed)',
  tooLarge: 'too large for their topic',
  underWay: 'under way already',
  done: 'done already',
};

const sinceThen: Readonly<Record<DeadLetterDetail['call'], string>> = {
  unknown: 'the claims no longer know it',
  pending: 'it was sent again and is under way',
  failed: 'it was sent again and waits for its next attempt',
  processed: 'it has succeeded since: nothing to do',
  dead: 'it is still dead',
};

/** Everything about a dead letter, for people. */
export function detailText(detail: DeadLetterDetail): string {
  const { at, endedAt, reason, class: outcomeClass, upstream, id, round, call, cause, cure, record, history } = detail;
  const show = (value: unknown): string => safe(typeof value === 'string' ? value : JSON.stringify(value));
  return [
    `${at}  ended ${endedAt}  ${safe(reason)} (${safe(outcomeClass)}) at ${safe(upstream)}`,
    `id       ${id === undefined ? '(none)' : safe(id)}`,
    `cause    ${cause}`,
    `cure     ${cure}`,
    `now      ${sinceThen[call]}${round === 0 ? '' : `; sent again ${round} times before this`}`,
    `key      ${show(record.key)}`,
    `request  ${show(record.value)}`,
    'history',
    ...JSON.stringify(history, undefined, 2)
      .split('\n')
      .map((line) => `  ${safe(line)}`),
    'headers',
    ...record.headers
      .filter(([name]) => name !== 'larkspur-history')
      .map(([name, value]) => `  ${safe(name)}: ${show(value)}`),
  ].join('\n');
}

function groupsText(by: readonly string[], groups: readonly DeadLetterGroup[]): string {
  const rows = groups
    .slice(0, mostShown)
    .map(({ values, count: number, firstMs, lastMs, newest }) => [
      count(number),
      ...values.map(cell),
      isoTime(firstMs).slice(0, 19),
      isoTime(lastMs).slice(0, 19),
      newest,
    ]);
  const more = groups.length > mostShown ? `\n... and ${count(groups.length - mostShown)} groups more` : '';
  return table(['count', ...by, 'first', 'last', 'newest'], rows) + more;
}

function linesText(lines: readonly DeadLetterLine[]): string {
  return table(
    ['at', 'ended', 'reason', 'upstream', 'code', 'key', 'id'],
    lines.map(({ at, endedAt, reason, upstream, code, key, id }) =>
      [at, endedAt.slice(0, 19), reason, upstream, code, key, id ?? ''].map(cell),
    ),
  );
}

function cell(text: string): string {
  const plain = safe(text);
  return plain.length > mostCell ? `${plain.slice(0, mostCell - 3)}...` : plain;
}

function count(number: number): string {
  return number.toLocaleString('en-US');
}
