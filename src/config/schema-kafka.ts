import { Type } from '@sinclair/typebox';

import { oneOf, section } from './schema-parts.ts';

/** Pattern of a port: 1 to 65535. */
export const port = '(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3})';
/** A text that nobody gets to see. */
export const secret = (description: string) =>
  Type.String({ minLength: 1, maxLength: 4096, pattern: '^[\\x21-\\x7e]+$', description });

/** The section `kafka`. */
export const kafka = section(
  {
    brokers: Type.Array(
      Type.String({ pattern: `^[A-Za-z0-9._-]+:${port}$`, description: 'host:port, one per entry, no IPv6 literal' }),
      { minItems: 1, maxItems: 100, description: 'first brokers to ask' },
    ),
    topicPrefix: Type.String({
      pattern: '^[A-Za-z0-9._-]{0,100}$',
      description: 'letters, digits, dot, underscore, dash',
    }),
    group: Type.String({ pattern: '^[A-Za-z0-9._-]{1,200}$', description: 'letters, digits, dot, underscore, dash' }),
    clientId: Type.String({
      pattern: '^[A-Za-z0-9._-]{1,100}$',
      description: 'letters, digits, dot, underscore, dash',
    }),
    sessionTimeoutMs: Type.Integer({
      minimum: 6_000,
      maximum: 300_000,
      description: 'a worker that is silent for so long loses its partitions: what they wait for after a kill',
    }),
    ssl: Type.Union(
      [
        Type.Boolean(),
        section({
          caFile: Type.String({ minLength: 1, description: 'PEM file of the certificate authority' }),
          certFile: Type.String({ minLength: 1, description: 'PEM file of the client certificate' }),
          keyFile: Type.String({ minLength: 1, description: 'PEM file of the client key' }),
        }),
      ],
      { description: 'true, false or { caFile, certFile, keyFile }' },
    ),
    sasl: section({
      mechanism: oneOf(['plain', 'scram-sha-256', 'scram-sha-512']),
      username: Type.String({ minLength: 1 }),
      password: secret('password'),
    }),
  },
  'Absent: embedded mode',
);
