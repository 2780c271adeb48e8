import { type Static, Type } from '@sinclair/typebox';

import { chaosSchema } from './schema-chaos.ts';
import { kafka, port, secret } from './schema-kafka.ts';
import { headerName, oneOf, section } from './schema-parts.ts';
import { profiles, routeTable } from './schema-route-table.ts';
import { routeSchema } from './schema-route.ts';
import { upstreamSchema } from './schema-upstream.ts';
import { bytes, items, workerSchema } from './schema-worker.ts';

const address = Type.String({
  pattern: `^([A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\]):(0|${port})$`,
  description: 'host:port, port 0 for a free one',
});

const tracing = section(
  {
    endpoint: Type.String({
      pattern: '^https?://[^\\s?#@]+$',
      description:
        'http:// or https:// address of a collector that takes OTLP over HTTP; /v1/traces is added to one without a path',
    }),
    headers: Type.Record(headerName, Type.String({ maxLength: 4096, pattern: '^[\\t\\x20-\\x7e]*$' }), {
      additionalProperties: false,
      description: 'sent along, for collectors that ask who it is',
    }),
    serviceName: Type.String({ minLength: 1, maxLength: 100, description: 'service.name of the spans' }),
    sampleRatio: Type.Number({
      minimum: 0,
      maximum: 1,
      description: 'share of the traces that begin here which are kept; of others their sender decides',
    }),
    withheldFrom: Type.Array(Type.String(), { description: 'upstreams that get no traceparent and no tracestate' }),
  },
  'Traces to an OpenTelemetry collector. Absent: nothing is traced',
);

const hour = 3_600_000;
const events = section(
  {
    dedupeMs: Type.Integer({ minimum: 8 * hour, maximum: 7 * 24 * hour, description: 'how long an event is known' }),
    maxAgeMs: Type.Integer({ minimum: 60_000, maximum: 7 * 24 * hour, description: 'how old a signature may be' }),
    clockSkewMs: Type.Integer({ minimum: 0, maximum: hour, description: 'how far ahead a signature may be' }),
    patienceMs: Type.Integer({ minimum: 100, maximum: 2_900, description: 'how long a delivery waits to be stored' }),
    maxHeld: items('deliveries that are not stored yet; further ones are refused', 100_000),
    maxHeldBytes: bytes('the same in bytes'),
  },
  'Events of Feishu that come over HTTP',
);

/** The whole configuration file. Every key may be left out. */
export const configSchema = Type.Partial(
  Type.Object(
    {
      kafka,
      redis: section({
        url: Type.String({ pattern: '^rediss?://\\S+$', description: 'redis:// or rediss:// address' }),
        cluster: Type.Boolean({ description: 'the address is one node of a Redis Cluster' }),
        keyPrefix: Type.String({ pattern: '^[A-Za-z0-9._:-]{0,100}$', description: 'in front of every key' }),
        replicas: Type.Integer({
          minimum: 0,
          maximum: 10,
          description: 'replicas that must have the claim of a call without a platform key before it goes out',
        }),
        timeoutMs: Type.Integer({ minimum: 10, maximum: 60_000, description: 'longest wait for an answer' }),
        replicasWaitMs: Type.Integer({
          minimum: 1,
          maximum: 200,
          description: 'longest wait for them; then the call waits and asks again',
        }),
      }),
      listen: section({ ingress: address, admin: address }),
      adminToken: secret('bearer token of the admin port and of /v1'),
      tokenKey: Type.String({
        minLength: 32,
        maxLength: 4096,
        pattern: '^[\\x21-\\x7e]+$',
        description: 'seals tokens and tickets that are kept, 32 characters or more',
      }),
      previousTokenKey: Type.String({
        minLength: 32,
        maxLength: 4096,
        pattern: '^[\\x21-\\x7e]+$',
        description: 'opens what was sealed before tokenKey was replaced',
      }),
      clients: Type.Array(
        Type.Object(
          {
            name: Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$', description: 'letters, digits, underscore, dash' }),
            token: Type.String({
              minLength: 16,
              maxLength: 4096,
              pattern: '^[\\x21-\\x7e]+$',
              description: 'bearer token, 16 characters or more',
            }),
            apps: Type.Optional(
              Type.Array(Type.String(), { description: 'apps whose calls it may make; absent: all' }),
            ),
            upstreams: Type.Optional(
              Type.Array(Type.String(), { description: 'upstreams that it may call; absent: all' }),
            ),
            perSecond: Type.Optional(items('calls in any second that it may hand in at one process', 100_000)),
          },
          { additionalProperties: false },
        ),
        { maxItems: 1000, description: 'who hands in calls over HTTP, each with a token of its own' },
      ),
      data: Type.String({ minLength: 1, description: "folder of the embedded store, or 'memory'" }),
      apps: Type.Array(
        Type.Object(
          {
            id: Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$', description: 'app id, cli_...' }),
            secret: secret('app secret'),
            kind: Type.Optional(oneOf(['self-built', 'store'])),
            oauth: Type.Optional(
              Type.Object(
                {
                  redirectUri: Type.String({
                    pattern: '^https?://[^\\s?#]+$',
                    description: 'address of /oauth/{app}/callback as browsers reach it',
                  }),
                  scopes: Type.Optional(
                    Type.Array(Type.String({ pattern: '^[\\x21-\\x7e]{1,128}$' }), { maxItems: 200 }),
                  ),
                  accountsUrl: Type.Optional(
                    Type.String({
                      pattern: '^https?://[^\\s/?#]+$',
                      description:
                        'host of the page of consent (default: of Lark where the upstream is at larksuite.com, else of Feishu)',
                    }),
                  ),
                },
                { additionalProperties: false, description: 'lets users consent to calls in their name' },
              ),
            ),
            longConnection: Type.Optional(
              Type.Boolean({ description: 'its events and callbacks come over a connection that each ingress opens' }),
            ),
            encryptKey: Type.Optional(secret('Encrypt Key')),
            verificationToken: Type.Optional(secret('Verification Token')),
            previousEncryptKey: Type.Optional(secret('Encrypt Key that still counts while it is replaced')),
            previousVerificationToken: Type.Optional(
              secret('Verification Token that still counts while it is replaced'),
            ),
          },
          { additionalProperties: false },
        ),
        { maxItems: 1000 },
      ),
      upstreams: Type.Record(Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,63}$' }), upstreamSchema, {
        additionalProperties: false,
        description: 'APIs by name: small letters, digits, dash, underscore',
      }),
      routes: Type.Array(routeSchema, { maxItems: 1000, description: 'which event goes where' }),
      routeTable,
      events,
      worker: workerSchema,
      tracing,
      playbooks: Type.Array(Type.String({ minLength: 1, maxLength: 500 }), {
        maxItems: 100,
        description: 'files of playbooks: when something is so for a time, then some steps',
      }),
      chaos: chaosSchema,
      profiles,
      maskFields: Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
        maxItems: 100,
        description: 'names of members in JSON bodies whose values are masked in results, messages and pages',
      }),
      logLevel: oneOf(['debug', 'info', 'warn', 'error', 'silent']),
      drainMs: Type.Integer({ minimum: 0, maximum: 600_000, description: 'longest time for an orderly end' }),
    },
    { $id: 'https://larkspur.dev/schemas/larkspur.schema.json', title: 'larkspur.yaml', additionalProperties: false },
  ),
);

/** The configuration as it is written: every key may be left out. */
export type RawConfig = Static<typeof configSchema>;
