import { type Static, Type } from '@sinclair/typebox';

import { headerText, type InRecord, type OutRecord } from './record.ts';
import { attemptSchema } from './result.ts';

/** Why a record ended without an answer. Closed list. */
export const deadLetterReasons = [
  'invalid_call',
  'undecodable',
  'permanent',
  'attempts_exhausted',
  'deadline_passed',
  'outcome_unknown',
  'auth_failed',
  'response_too_large',
  'unroutable',
] as const;

/** Closed list of dead letter reasons. */
export type DeadLetterReason = (typeof deadLetterReasons)[number];

/** Header names that a dead letter carries beside the untouched headers of its record. */
export const deadLetterHeaders = {
  reason: 'larkspur-reason',
  class: 'larkspur-class',
  origin: 'larkspur-origin',
  attempts: 'larkspur-attempts',
  history: 'larkspur-history',
  round: 'larkspur-round',
  /** The span that ended there, of a trace that is kept. */
  trace: 'larkspur-trace',
} as const;

/** The record that a dead letter first was, for one that is sent again; `undefined` for any other record. */
export function firstOrigin({ headers }: Pick<InRecord, 'headers'>): string | undefined {
  const text = headerText(headers, deadLetterHeaders.origin);
  return text === '' ? undefined : text;
}

// What a claim can count.
const mostRounds = 0xff_ff_fe;

/** How often a person has sent this record again; 0 for one that nobody has. */
export function roundOf({ headers }: Pick<InRecord, 'headers'>): number {
  const text = headerText(headers, deadLetterHeaders.round);
  return text !== undefined && /^\d{1,8}$/.test(text) ? Math.min(Number(text), mostRounds) : 0;
}

/**
 * A dead letter as the call that it was: key and value byte for byte, the headers that it came with, its first origin, which
 * names the call for ever, the span in which it ended, and the next round, by which its claim knows a repetition. That of an
 * event is an event again.
 */
export function redriven(deadLetter: InRecord): OutRecord {
  const own = new Set<string>(Object.values(deadLetterHeaders));
  const origin = firstOrigin(deadLetter);
  const trace = headerText(deadLetter.headers, deadLetterHeaders.trace);
  return {
    topic: origin?.split('/')[1] === 'events' ? 'events' : 'calls',
    key: deadLetter.key,
    value: deadLetter.value,
    headers: [
      ...deadLetter.headers.filter(([name]) => !own.has(name)),
      ...(origin === undefined ? [] : [[deadLetterHeaders.origin, Buffer.from(origin)] as const]),
      ...(trace === undefined ? [] : [[deadLetterHeaders.trace, Buffer.from(trace)] as const]),
      [deadLetterHeaders.round, Buffer.from(String(roundOf(deadLetter) + 1))],
    ],
  };
}

/** The JSON in the header `larkspur-history`. */
export const deadLetterHistorySchema = Type.Object(
  {
    id: Type.Optional(Type.String()),
    reason: Type.Union(deadLetterReasons.map((reason) => Type.Literal(reason))),
    message: Type.String({ description: 'What happened, where, and what to do' }),
    at: Type.String({ format: 'date-time' }),
    upstream: Type.Optional(Type.String()),
    faults: Type.Optional(
      Type.Array(Type.Object({ at: Type.String(), message: Type.String() }, { additionalProperties: false })),
    ),
    unknown: Type.Optional(
      Type.Object(
        {
          since: Type.String({ format: 'date-time', description: 'When the first request left that may have acted' }),
          attempts: Type.Integer({ minimum: 1, description: 'Attempts that may have acted' }),
          requestBytes: Type.Integer({ minimum: 0, description: 'Body of the request, of which some or all left' }),
          keyed: Type.Boolean({ description: 'Whether the request carried a key by which its API knows a repeat' }),
        },
        { additionalProperties: false, description: 'With outcome_unknown: what is known' },
      ),
    ),
    attempts: Type.Array(attemptSchema, { description: 'The last ones; header bytes stay bounded' }),
  },
  {
    $id: 'https://larkspur.dev/schemas/dead-letter-history.schema.json',
    title: 'DeadLetterHistory',
    additionalProperties: false,
  },
);

/** What is known about the end of a dead letter. */
export type DeadLetterHistory = Static<typeof deadLetterHistorySchema>;
