import { type Static, Type } from '@sinclair/typebox';

import { baseUrl, count, headerName, ms, oneOf, orOff, path, ratio, section } from './schema-parts.ts';

/** Names of the presets. */
export const presetNames = ['bot', 'sdk', 'platform', 'gateway'] as const;

const retry = section(
  {
    maxAttempts: count('charged attempts, the first included', 1, 1000),
    attemptsInARow: count('attempts in this process before the call is held for longer', 1, 100),
    baseMs: ms('delay after the first attempt before jitter; doubles'),
    capMs: ms('no delay grows beyond this'),
    floorMs: Type.Integer({ minimum: 0, maximum: 60_000, description: 'shortest delay' }),
    jitter: Type.Union(
      [
        Type.Literal('full'),
        Type.Literal('equal'),
        Type.Object({ proportional: Type.Number({ minimum: 0, maximum: 1 }) }, { additionalProperties: false }),
        Type.Object({ additive: Type.Integer({ minimum: 0, maximum: 60_000 }) }, { additionalProperties: false }),
      ],
      { description: 'full, equal, { proportional: 0..1 } or { additive: ms }' },
    ),
    longestWaitMs: ms('a longer wait leaves the process where a delay topic exists'),
    minWorkMs: Type.Integer({ minimum: 0, maximum: 60_000, description: 'less before the deadline is too late' }),
    budget: section(
      {
        start: Type.Number({ minimum: 0, maximum: 1e6 }),
        perSuccess: Type.Number({ minimum: 0, maximum: 100 }),
        cap: Type.Number({ minimum: 0, maximum: 1e6 }),
      },
      'each success earns perSuccess, each retry costs 1, never above cap',
    ),
  },
  'Retry with back-off',
);

const breaker = section(
  {
    window: section(
      {
        ms: ms('length'),
        minMs: ms('elastic: shortest'),
        maxMs: ms('elastic: longest'),
        targetCalls: count('elastic'),
      },
      'sliding window: { ms } or elastic { minMs, maxMs, targetCalls }',
    ),
    mode: oneOf(['buckets', 'exact'], 'how the window is kept'),
    buckets: count('cells of the window', 2, 1000),
    minCalls: orOff(count('no ratio is looked at below so many calls; off: never')),
    failureRatio: ratio('share of failed calls that opens it'),
    slowMs: ms('a call at least this long is slow'),
    slowRatio: orOff(ratio('share of slow calls that opens it; off: never')),
    consecutiveFailures: orOff(count('failures in a row that open it; off: never')),
    minInFlight: count('opens only with more than so many calls in flight; 0: always', 0),
    hints: Type.Boolean({ description: 'listens to the breakers of other workers for this upstream' }),
    coolDownMs: ms('first time in open; doubles up to maxOpenMs'),
    maxOpenMs: ms('longest time in open'),
    openJitter: Type.Number({ minimum: 0, maximum: 1, description: 'up to this share is added to the time in open' }),
    probes: count('calls let through per half-open round', 1, 1000),
    successesInARow: count('good probes that close it', 1, 1000),
    probeLeaseMs: ms('a silent probe frees its place after this'),
    halfOpenShare: ratio('half-open calls go one by one, at most this share of the traffic before, all of them judged'),
    rampFrom: ratio('share of calls let through when it starts to recover'),
    rampMs: ms('time from that share to all calls'),
    closeWhen: section({
      p95Ms: ms('closes only below this p95'),
      successRatio: ratio('closes only above this share of successes'),
    }),
    adaptive: section(
      {
        factor: Type.Number({
          minimum: 1,
          maximum: 10,
          description: 'growth of the threshold after a blip; 1 pins it',
        }),
        max: ratio('the threshold never rises above this'),
        decayMs: ms('half-life of the way back'),
      },
      'how the threshold learns',
    ),
    probe: section(
      {
        path,
        headers: Type.Record(headerName, Type.String({ maxLength: 4096, pattern: '^[\\x20-\\x7e]*$' })),
        expect: Type.Integer({ minimum: 100, maximum: 599, description: 'status of a good answer' }),
        withinMs: ms('a later answer is no good one'),
        minExpireS: count('feishu: seconds that the token of a good answer lives', 0, 86_400),
      },
      'sent while it is open, 1, 2, 4 ... 10 s apart, until successesInARow succeeded; no call is let through before',
    ),
  },
  'Circuit breaker',
);

/** Numbers that an upstream has, and each group of its APIs. */
const policies = {
  concurrency: count('calls in flight at once', 1, 10_000),
  concurrencyFloor: count(
    'timeouts narrow the concurrency down to this; the same as concurrency: they do not',
    1,
    10_000,
  ),
  connections: count('open sockets per address', 1, 10_000),
  timeouts: section({
    connectMs: ms('to open a socket'),
    attemptMs: ms('for one attempt'),
    totalMs: ms('for all attempts made one after another'),
  }),
  retry: orOff(retry),
  breaker: orOff(breaker),
};

const limit = section(
  {
    perSecond: count('calls in any second'),
    perMinute: count('calls in any minute'),
    limit: count('calls in any window of windowMs'),
    windowMs: ms('length of the window'),
  },
  '{ perSecond }, { perMinute } or { limit, windowMs }',
);

const group = section(
  {
    paths: Type.Array(Type.String({ pattern: '^/', maxLength: 500 }), {
      minItems: 1,
      maxItems: 100,
      description: 'paths of its calls, * for any characters',
    }),
    tier: limit,
    ...policies,
  },
  'calls by path, or by the tier that Feishu documents, with breaker, slots, sockets and budget of their own',
);

/** What a promise is made of, for upstreams and routes. */
export const promise = {
  objective: Type.Number({ exclusiveMinimum: 0, exclusiveMaximum: 1, description: 'share that is to go well' }),
  windowMs: Type.Integer({ minimum: 3_600_000, maximum: 90 * 86_400_000, description: 'over how long' }),
  burnRates: section(
    {
      page: Type.Number({ minimum: 1, maximum: 1_000 }),
      ticket: Type.Number({ minimum: 1, maximum: 1_000 }),
    },
    'from which on somebody is told; 1 uses the budget up in just the window',
  ),
};

/** One upstream as it is written. */
export const upstreamSchema = section(
  {
    profile: oneOf(['feishu', 'http'], 'what Larkspur knows about it'),
    baseUrl,
    targets: Type.Array(baseUrl, {
      minItems: 1,
      maxItems: 64,
      description: 'several equal addresses, chosen by health; instead of baseUrl',
    }),
    preset: oneOf(presetNames, 'numbers to start from'),
    ...policies,
    bucketConcurrency: count('calls in flight at once per quota bucket', 1, 10_000),
    bulkSpreadMs: Type.Integer({
      minimum: 0,
      maximum: 1_200_000,
      description: 'bulk calls that come at a full or half hour are spread over so long after it; 0: they are not',
    }),
    batching: Type.Boolean({
      description:
        'calls that would wait for quota go in one request where the API has one that gives many (Feishu: contact users)',
    }),
    maxResponseBytes: count('a longer answer ends as response_too_large', 1024, 64 * 1024 * 1024),
    limits: Type.Array(limit, { maxItems: 8 }),
    groups: Type.Record(Type.String({ pattern: '^[a-z][a-z0-9_-]{0,31}$' }), group, {
      additionalProperties: false,
      description: 'APIs with numbers of their own: small letters, digits, dash, underscore',
    }),
    fallback: orOff(
      section({
        cacheTtlMs: ms('how old a last good answer may be'),
        default: Type.Unknown({ description: 'body to answer with when there is nothing else' }),
        afterAttempts: count('failed attempts before the one whose failure it answers', 0, 1000),
        writes: Type.Boolean({ description: 'for POST, PUT, PATCH and DELETE, too; else for GET alone' }),
      }),
    ),
    idempotencyKey: section(
      {
        header: Type.String({
          pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$",
          description: 'request header that carries the key',
        }),
        windowMs: Type.Integer({ minimum: 1, maximum: 31_622_400_000, description: 'how long a key is remembered' }),
      },
      'the upstream does a POST or PATCH once, however often it comes with the same key (profile http)',
    ),
    health: section(
      { path, intervalMs: ms('from an answer to the next question'), timeoutMs: ms('for one answer') },
      'a GET that tells how it is, on /admin/api-health; no call depends on it',
    ),
    cache: section({ ttlMs: ms('how long a good answer to a GET serves later ones without a call') }),
    slo: section(
      { ...promise, latencyMs: ms('from reading a call to its live answer; what takes longer did not go well') },
      'share of its calls that get a live answer in time',
    ),
    use: Type.Array(Type.String({ minLength: 1 }), {
      description: 'modules that see each attempt: export default { before, after }',
    }),
  },
  'One API that calls go to',
);

/** One upstream as it is written: every key may be left out. */
export type RawUpstream = Static<typeof upstreamSchema>;
