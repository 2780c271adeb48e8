import { Type } from '@sinclair/typebox';

import { section } from './schema-parts.ts';
import { promise } from './schema-upstream.ts';

const expression = (description: string) => Type.String({ minLength: 1, maxLength: 20_000, description });

/** One route as it is written. */
export const routeSchema = Type.Object(
  {
    on: Type.String({ pattern: '^[A-Za-z0-9_.*-]{1,128}$', description: 'event type, * for any characters' }),
    name: Type.Optional(
      Type.String({ pattern: '^[A-Za-z0-9_.-]{1,64}$', description: 'letters, digits, dot, underscore, dash' }),
    ),
    app: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$', description: 'app id, cli_...' })),
    when: Type.Optional(expression('jsonata expression that must be true')),
    http: Type.Optional(
      Type.String({
        pattern: '^https?://[^\\s/?#@]+(/[^\\s?#@]*)?$',
        description: 'http:// or https:// address without user, query and fragment',
      }),
    ),
    handler: Type.Optional(Type.String({ minLength: 1, description: 'file of a module with a default export' })),
    timeoutMs: Type.Optional(
      Type.Integer({ minimum: 10, maximum: 600_000, description: 'longest time of a handler for one event' }),
    ),
    call: Type.Optional(
      Type.Union([expression('jsonata expression that gives a call'), Type.Record(Type.String(), Type.Unknown())], {
        description: 'a jsonata expression that gives a call, or the fields of one with an expression as body',
      }),
    ),
    answer: Type.Optional(expression('jsonata expression that gives the answer to a callback')),
    slo: Type.Optional(section(promise, 'share of its events that become a call or a record, or need none')),
    topic: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9._-]{1,200}$', description: 'topic, without the prefix' })),
  },
  { additionalProperties: false },
);
