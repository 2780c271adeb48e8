import { type Static, Type } from '@sinclair/typebox';

import { injectedFaultSchema } from '../model/injected-fault.ts';

import { oneOf, section } from './schema-parts.ts';
import { upstreamSchema } from './schema-upstream.ts';
import { items } from './schema-worker.ts';

/** What can be measured of a run; `workers` cannot see all of it from outside. */
export const figureNames = [
  'lost',
  'twice',
  'outOfOrder',
  'deadLetters',
  'answeredShare',
  'liveShare',
  'fallbackSuccess',
  'p50AddedMs',
  'p99AddedMs',
  'faults',
  'retries',
  'breakerOpenings',
  'recoverMs',
  'outsideAnsweredShare',
  'score',
] as const;

/** One of them. */
export type FigureName = (typeof figureNames)[number];

const name = Type.String({ pattern: '^[a-z0-9][a-z0-9-]{0,63}$', description: 'small letters, digits, dash' });
const sentence = (description: string) => Type.String({ minLength: 1, maxLength: 2_000, description });
const span = (description: string, minimum = 1) => Type.Integer({ minimum, maximum: 86_400_000, description });

const fault = Type.Object(
  {
    ...injectedFaultSchema.properties,
    afterMs: Type.Optional(span('from the begin of the run; default 0', 0)),
    forMs: Type.Optional(span('how long; default: to the end of the run')),
  },
  { additionalProperties: false },
);

const limit = Type.Optional(Type.Number());
const figure = oneOf(figureNames);
const least = Type.Object({ figure, atLeast: limit, atMost: limit }, { additionalProperties: false });
const outside = Type.Object({ figure, below: limit, above: limit }, { additionalProperties: false });

/** A scenario file. */
export const scenarioSchema = Type.Object(
  {
    name,
    hypothesis: sentence('what will hold although things fail'),
    incident: Type.Optional(sentence('what once went wrong, and must not again')),
    target: Type.Optional(
      oneOf(
        ['sandbox', 'workers'],
        'sandbox: a house of its own, beside a control; workers: those behind --url; default sandbox',
      ),
    ),
    blastRadius: Type.Object(
      {
        upstreams: Type.Array(
          Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,55}$', description: 'name of an upstream' }),
          {
            minItems: 1,
            maxItems: 20,
            description: 'what may be hurt; nothing else is',
          },
        ),
        share: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 1, description: 'of its calls; default 1' })),
        mostMs: Type.Optional(span('longest time; default 10 min')),
      },
      { additionalProperties: false },
    ),
    faults: Type.Array(fault, { minItems: 1, maxItems: 100, description: 'what goes wrong' }),
    background: Type.Optional(
      Type.Array(fault, { maxItems: 100, description: 'sandbox: what goes wrong anyhow, for the control, too' }),
    ),
    durationMs: Type.Optional(span('workers: how long the faults hold; default 60 s')),
    load: Type.Optional(
      section(
        {
          calls: items('calls, and as many for the control', 100_000),
          perSecond: items('calls a second', 1_000),
          keys: items('ordering keys', 10_000),
        },
        'sandbox: what is called. feishu gets messages, any other upstream reads',
      ),
    ),
    upstreams: Type.Optional(
      Type.Record(Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,55}$' }), upstreamSchema, {
        additionalProperties: false,
        description: 'sandbox: upstreams of the run; their address is the sandbox',
      }),
    ),
    guard: Type.Optional(
      section(
        {
          minScore: Type.Number({ minimum: 0, maximum: 100, description: 'no run below it' }),
          minBudget: Type.Number({ minimum: 0, maximum: 1, description: 'no run with less of an error budget left' }),
        },
        'workers: when not to run',
      ),
    ),
    abort: Type.Optional(Type.Array(outside, { maxItems: 50, description: 'ends the faults at once' })),
    expect: Type.Array(least, { maxItems: 50, description: 'what the hypothesis means' }),
  },
  { $id: 'https://larkspur.dev/schemas/scenario.schema.json', title: 'Chaos scenario', additionalProperties: false },
);

/** A scenario as it is written. */
export type RawScenario = Static<typeof scenarioSchema>;

/** What holds when nothing is written. */
export const scenarioDefaults = {
  share: 1,
  mostMs: 600_000,
  durationMs: 60_000,
  // Below what one app may send: quota is no part of it unless a scenario wants it so.
  load: { calls: 300, perSecond: 40, keys: 20 },
  // As the first level at which a playbook may act.
  guard: { minScore: 75, minBudget: 0 },
};
