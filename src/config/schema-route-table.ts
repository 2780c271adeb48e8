import { type Static, Type } from '@sinclair/typebox';

import { ms, section } from './schema-parts.ts';
import { routeSchema } from './schema-route.ts';
import { bytes, items } from './schema-worker.ts';

/** The section `routeTable`. */
export const routeTable = section(
  {
    file: Type.String({ minLength: 1, description: 'YAML file: a list of routes, each with a name' }),
    mysql: Type.String({ pattern: '^mysqls?://\\S+/[^/?#\\s]+$', description: 'mysql:// address with the database' }),
    table: Type.String({
      pattern: '^[A-Za-z0-9_$]{1,64}(\\.[A-Za-z0-9_$]{1,64})?$',
      description: 'table with the columns name, position, enabled and rule',
    }),
    timeoutMs: Type.Integer({ minimum: 10, maximum: 30_000, description: 'longest wait for the source' }),
    exportMs: ms('from one reading of the source to the next'),
    sharedMs: ms('how long what was read stands in Redis if nobody renews it'),
    freshMs: ms('a rule in memory is looked at again after so long, while it serves on'),
    entries: items('buckets of rules in memory', 1_000_000),
    bytes: bytes('the same in bytes'),
  },
  'Further routes that are kept elsewhere: exported to Redis, read from there, kept in memory',
);

/** The section `profiles`. */
export const profiles = Type.Record(
  Type.String({ pattern: '^[a-z][a-z0-9-]{0,31}$' }),
  section({
    routes: Type.Array(Type.String({ pattern: '^[A-Za-z0-9_.*-]{1,64}$' }), {
      minItems: 1,
      maxItems: 1000,
      description: 'names of routes, * for any characters',
    }),
  }),
  {
    additionalProperties: false,
    description: 'workers that run some routes in a group of their own: small letters, digits, dash',
  },
);

const { name, on, app, when, http, call, answer, topic } = routeSchema.properties;

/** One rule as it is written there: a route, but for handlers, whose code comes with the deployment. */
export const ruleSchema = Type.Object(
  {
    name: Type.Optional(name, false),
    position: Type.Optional(Type.Number({ description: 'place among the rules' })),
    ...{ on, app, when, http, call, answer, topic },
  },
  { additionalProperties: false },
);

/** One rule as it is written. */
export type RawRule = Static<typeof ruleSchema>;
