import { jsonOf } from './json-levels.ts';
import type { InRecord } from './record.ts';
import { headerText, placeOf } from './record.ts';
import type { Attempt } from './result.ts';

/** Header that a record in a delay topic carries beside the untouched ones of its call. Its size does not grow. */
export const heldHeader = 'larkspur-held';

// The newest attempts tell most; with these the header stays below 3 KiB however often a call is held.
const mostAttempts = 6;
const mostMessageChars = 120;

/** What a call has behind it and what it waits for, so that whoever reads it next goes on where it stood. Times: epoch ms. */
export interface HeldState {
  /** Origin of the record that first brought the call: its name for ever. */
  readonly origin: string;
  /** Not before; for the first step by the writer's clock, from the second on by the broker's. */
  readonly notBeforeMs: number;
  /** What of the wait was left when the record was written. */
  readonly restMs: number;
  /** What it waits for, and since when. */
  readonly why: string;
  readonly sinceMs: number;
  /** Steps of this wait so far, this one included. */
  readonly hop: number;
  readonly deadlineMs: number;
  readonly attemptsMade: number;
  readonly charged: number;
  /** How often it was held because of itself. */
  readonly holds: number;
  readonly firstReadMs: number;
  readonly firstAttemptMs: number | undefined;
  readonly inFlightMs: number;
  readonly limitedMs: number;
  /** How the last attempt failed, for metrics. */
  readonly last: { readonly status: number; readonly errorType: string } | undefined;
  readonly attempts: readonly Attempt[];
  /** When it was written, where the writer did not know the broker's clock: all times are by its own then. */
  readonly ownMs?: number | undefined;
  /** The span that put it there, as a `traceparent`; absent: its trace is not kept. */
  readonly trace?: string | undefined;
}

/** The state as the text of its header. */
export function heldText({ attempts, ...state }: HeldState): string {
  const newest = attempts.slice(-mostAttempts).map(({ message, ...attempt }) => ({
    ...attempt,
    ...(message === undefined ? {} : { message: message.slice(0, mostMessageChars) }),
  }));
  return JSON.stringify({ v: 1, ...state, attempts: newest });
}

/** The state of a record of a delay topic; `undefined` where it has none that can be read. */
export function heldStateOf({ headers }: Pick<InRecord, 'headers'>): HeldState | undefined {
  const text = headerText(headers, heldHeader);
  if (text === undefined) return undefined;
  const state = jsonOf(text);
  return isHeldState(state) ? state : undefined;
}

/** When the wait of a record is over, on the broker's clock: fixed when it was first stored, whoever reads it when. */
export function notBeforeOf(
  { hop, notBeforeMs, restMs }: HeldState,
  { timestampMs }: Pick<InRecord, 'timestampMs'>,
): number {
  return hop <= 1 ? timestampMs + restMs : notBeforeMs;
}

/** How far the other times of a record are behind the broker's clock, where it was written by another one. */
export function offMs({ ownMs }: HeldState, { timestampMs }: Pick<InRecord, 'timestampMs'>): number {
  return ownMs === undefined ? 0 : timestampMs - ownMs;
}

function isHeldState(value: unknown): value is HeldState {
  if (typeof value !== 'object' || value === null) return false;
  const state = value as Readonly<Record<string, unknown>>;
  const numbers = [
    'notBeforeMs',
    'restMs',
    'sinceMs',
    'hop',
    'attemptsMade',
    'charged',
    'holds',
    'firstReadMs',
    'inFlightMs',
  ];
  const more = ['deadlineMs', 'limitedMs'];
  return (
    state['v'] === 1 &&
    typeof state['origin'] === 'string' &&
    placeOf(state['origin']) !== undefined &&
    typeof state['why'] === 'string' &&
    ['number', 'undefined'].includes(typeof state['ownMs']) &&
    ['string', 'undefined'].includes(typeof state['trace']) &&
    [...numbers, ...more].every((name) => typeof state[name] === 'number') &&
    Array.isArray(state['attempts'])
  );
}
