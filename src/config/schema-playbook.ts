import { type Static, Type } from '@sinclair/typebox';

import { oneOf } from './schema-parts.ts';

const closed = { additionalProperties: false };
const text = (description: string, maxLength = 2_000) => Type.String({ minLength: 1, maxLength, description });
const wait = (description: string, minimum = 0) => Type.Integer({ minimum, maximum: 86_400_000, description });
const upstream = Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,63}$', description: 'name of an upstream' });
const httpUrl = Type.String({ pattern: '^https?://[^\\s#]+$', description: 'http:// or https:// address' });
const metric = Type.String({ pattern: '^[a-zA-Z_][a-zA-Z0-9_]{0,199}$', description: 'name of a metric' });
const words = Type.Union([metric, Type.Array(metric, { minItems: 1, maxItems: 5 })], {
  description: 'a metric, or several that are added up',
});

/** Things that happen, in a word. */
export const playbookEvents = ['breaker-opened', 'redis-away', 'slo-burning', 'dead-letter'] as const;

const when = Type.Object(
  {
    metric: Type.Optional(metric),
    of: Type.Optional(words),
    where: Type.Optional(Type.Record(Type.String(), Type.String(), { description: 'labels that a series must have' })),
    above: Type.Optional(Type.Number()),
    below: Type.Optional(Type.Number()),
    event: Type.Optional(oneOf(playbookEvents, 'instead of metric')),
    upstream: Type.Optional(upstream),
    forMs: Type.Optional(wait('how long it must be so')),
    overMs: Type.Optional(wait('over how long the growth of counters is looked at', 1_000)),
    atLeast: Type.Optional(Type.Number({ minimum: 0, description: 'a share of less than so many says nothing' })),
    clear: Type.Optional(Type.Number({ description: 'back at this or better it may be over' })),
    clearForMs: Type.Optional(wait('how long it must be so')),
  },
  { ...closed, description: 'metric with above or below, or event' },
);

const alert = Type.Object(
  {
    feishu: Type.Optional(
      Type.Object(
        { webhook: httpUrl, secret: Type.Optional(text('signing secret of the bot', 200)) },
        { ...closed, description: 'a custom bot: { webhook, secret }' },
      ),
    ),
    http: Type.Optional(
      Type.Object(
        { webhook: httpUrl, headers: Type.Optional(Type.Record(Type.String(), Type.String())) },
        { ...closed, description: 'gets a POST with JSON: { webhook, headers }' },
      ),
    ),
    text: text('what it says; {value}, {playbook} and {when} are filled in'),
    link: Type.Optional(
      Type.String({ pattern: '^https?://\\S+$', maxLength: 2_000, description: 'http:// or https:// address' }),
    ),
    whenOver: Type.Optional(text('a second message when it is over')),
  },
  closed,
);

const scale = Type.Object(
  {
    replicas: Type.Integer({ minimum: 0, maximum: 10_000 }),
    deployment: Type.Optional(
      Type.String({ pattern: '^[a-z0-9][a-z0-9.-]{0,252}$', description: 'name of a Deployment' }),
    ),
    namespace: Type.Optional(
      Type.String({ pattern: '^[a-z0-9][a-z0-9-]{0,62}$', description: 'name of its namespace' }),
    ),
    api: Type.Optional(httpUrl),
    tokenFile: Type.Optional(text('file with the token of a service account', 500)),
    caFile: Type.Optional(text('PEM file of the certificate authority', 500)),
    command: Type.Optional(
      Type.Array(text('a word'), { minItems: 1, maxItems: 50, description: 'instead: a program and its arguments' }),
    ),
    undoCommand: Type.Optional(Type.Array(text('a word'), { minItems: 1, maxItems: 50 })),
  },
  closed,
);

/** What a playbook does; one of these in each step. */
export const playbookActions = ['config', 'isolate', 'pause', 'alert', 'scale', 'disturb'] as const;

const action = Type.Object(
  {
    config: Type.Optional(
      Type.Record(Type.String({ pattern: '^[A-Za-z0-9_.-]{1,200}$' }), Type.Unknown(), {
        ...closed,
        minProperties: 1,
        description: 'values by their path, e.g. redis.timeoutMs: 800',
      }),
    ),
    isolate: Type.Optional(upstream),
    pause: Type.Optional(upstream),
    alert: Type.Optional(alert),
    scale: Type.Optional(scale),
    disturb: Type.Optional(
      Type.Object(
        {
          rules: Type.Array(Type.Record(Type.String(), Type.Unknown()), {
            minItems: 1,
            maxItems: 20,
            description: 'faults as /admin/faults takes them',
          }),
          forMs: Type.Integer({ minimum: 1_000, maximum: 600_000, description: 'then they go by themselves' }),
        },
        closed,
      ),
    ),
    dryRun: Type.Optional(Type.Boolean({ description: 'of this step; disturb: true unless said otherwise' })),
  },
  { ...closed, description: `one of ${playbookActions.join(', ')}` },
);

/** One file of `playbooks`. */
export const playbookSchema = Type.Object(
  {
    name: Type.String({ pattern: '^[a-z0-9][a-z0-9-]{0,63}$', description: 'small letters, digits, dash' }),
    about: Type.Optional(text('why it is there')),
    when,
    then: Type.Array(action, { minItems: 1, maxItems: 20 }),
    coolDownMs: Type.Optional(wait('after an end nothing begins for so long')),
    mostMs: Type.Optional(wait('after so long it is over, whatever the value says', 1_000)),
    dryRun: Type.Optional(Type.Boolean({ description: 'says what it would do, and does nothing' })),
    undo: Type.Optional(Type.Boolean({ description: 'false: what it changed stays so when it is over' })),
  },
  {
    ...closed,
    $id: 'https://larkspur.dev/schemas/playbook.schema.json',
    title: 'A playbook: when something is so for a time, then some steps',
  },
);

/** A playbook as it is written. */
export type RawPlaybook = Static<typeof playbookSchema>;
