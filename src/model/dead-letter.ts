import { type Static, Type } from '@sinclair/typebox';

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
} as const;

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
