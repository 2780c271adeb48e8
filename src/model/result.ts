import { type Static, Type } from '@sinclair/typebox';

const ms = (description: string) => Type.Number({ minimum: 0, description: `${description}, milliseconds` });

/** One attempt of a call, as it stands in a result. */
export const attemptSchema = Type.Object(
  {
    started: Type.String({ format: 'date-time' }),
    ms: ms('How long it took'),
    class: Type.String({
      description: 'success, duplicate, rate-limited, quota, retryable, auth, ambiguous, permanent',
    }),
    status: Type.Optional(Type.Integer({ description: 'HTTP status' })),
    code: Type.Optional(Type.Integer({ description: "The body's own code" })),
    message: Type.Optional(Type.String()),
    waitedFor: Type.Optional(Type.String({ description: 'What the call waited for before this attempt' })),
    waitedMs: Type.Optional(ms('How long it waited for that')),
    batchOf: Type.Optional(
      Type.Integer({ minimum: 2, description: 'How many calls went in the same request; absent: it went by itself' }),
    ),
  },
  { additionalProperties: false },
);

/** The value of a record on `results`. Its key is the key of the input. */
export const resultSchema = Type.Object(
  {
    id: Type.String(),
    origin: Type.String({ description: 'cluster/topic/partition/offset/timestamp of the input' }),
    status: Type.Union(['ok', 'fallback', 'duplicate', 'cancelled'].map((status) => Type.Literal(status))),
    source: Type.Union(['live', 'cache', 'default'].map((source) => Type.Literal(source))),
    upstream: Type.String(),
    response: Type.Optional(
      Type.Object(
        {
          status: Type.Integer(),
          code: Type.Optional(Type.Integer()),
          logId: Type.Optional(Type.String()),
          body: Type.Optional(Type.Unknown({ description: 'JSON when the answer was JSON, else text' })),
          base64: Type.Optional(Type.String({ description: 'The body when it is neither JSON nor UTF-8 text' })),
          contentType: Type.Optional(Type.String()),
        },
        { additionalProperties: false },
      ),
    ),
    fallback: Type.Optional(
      Type.Object(
        {
          because: Type.Union(
            ['breaker_open', 'attempts_exhausted', 'deadline_passed'].map((because) => Type.Literal(because)),
          ),
          message: Type.String({ description: 'What happened, for people' }),
          ageMs: Type.Optional(ms('Age of a remembered answer')),
        },
        { additionalProperties: false, description: 'Why the answer is not a live one' },
      ),
    ),
    ageMs: Type.Optional(ms('Age of an answer out of the read cache, which saved the call')),
    attempts: Type.Array(attemptSchema),
    timing: Type.Object(
      {
        queuedMs: ms('In buffers and lanes before the first attempt'),
        limitedMs: ms('Waiting for a rate limit or a cool-down'),
        inFlightMs: ms('At the upstream, over all attempts'),
        totalMs: ms('From reading the record to its end'),
      },
      { additionalProperties: false },
    ),
    context: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  { $id: 'https://larkspur.dev/schemas/result.schema.json', title: 'Result', additionalProperties: false },
);

/** What became of a call that has an answer. */
export type Result = Static<typeof resultSchema>;

/** One attempt of a call. */
export type Attempt = Static<typeof attemptSchema>;
