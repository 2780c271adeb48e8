import { type Static, Type } from '@sinclair/typebox';

import { mostJsonLevels, nestsTooDeep } from './json-levels.ts';

/** HTTP methods a call may use. */
export const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** How urgent a call is. Weights are 8 : 4 : 1. */
export const prioritySchema = Type.Union([Type.Literal('interactive'), Type.Literal('normal'), Type.Literal('bulk')]);

// Any name, also one with a line break, which the pattern that TypeBox takes by itself leaves unchecked.
const anyName = Type.String({ pattern: '^[\\s\\S]*$' });
const shortName = { propertyNames: { type: 'string', maxLength: 200 } };

const scalar = Type.Union([Type.String(), Type.Number(), Type.Boolean()]);

/** One field of a multipart body: text, or a file given as base64. */
export const partSchema = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 200 }),
    value: Type.Optional(Type.String({ description: 'Text of the field.' })),
    base64: Type.Optional(Type.String({ description: 'Content of a file, base64.' })),
    filename: Type.Optional(Type.String({ maxLength: 500 })),
    contentType: Type.Optional(Type.String({ maxLength: 200 })),
  },
  { additionalProperties: false },
);

/** Characters of the id of a call, at most. */
export const maxIdLength = 200;

/** The value of a record on `calls`. The least a user must write is `path`. */
export const callSchema = Type.Object(
  {
    id: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: maxIdLength,
        pattern: '^[\\x21-\\x7e]+$',
        description: "Visible ASCII without blanks: the caller's idempotency key. Default: the record's origin.",
      }),
    ),
    upstream: Type.Optional(Type.String({ minLength: 1, maxLength: 64, default: 'feishu' })),
    method: Type.Optional(
      Type.Union(
        methods.map((method) => Type.Literal(method)),
        { description: 'Default: POST when there is a body, else GET.' },
      ),
    ),
    path: Type.String({
      minLength: 1,
      maxLength: 2048,
      pattern: '^/',
      description: 'Begins with /. Path only, never a URL: the base of the upstream decides the host.',
    }),
    query: Type.Optional(Type.Record(anyName, Type.Union([scalar, Type.Array(scalar)]), shortName)),
    headers: Type.Optional(
      Type.Record(anyName, Type.String({ maxLength: 4096, pattern: '^[\\t\\x20-\\x7e\\x80-\\xff]*$' }), shortName),
    ),
    body: Type.Optional(Type.Unknown({ description: 'Any JSON value; sent as JSON.' })),
    multipart: Type.Optional(Type.Array(partSchema, { minItems: 1, maxItems: 50 })),
    app: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'Which app. Default: the only one.' })),
    tenant: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
    as: Type.Optional(
      Type.Union([
        Type.Literal('tenant'),
        Type.Literal('app'),
        Type.Object({ user: Type.String({ minLength: 1, maxLength: 64 }) }, { additionalProperties: false }),
      ]),
    ),
    deadline: Type.Optional(
      Type.Union([
        Type.String({ format: 'date-time', description: 'ISO 8601.' }),
        Type.Integer({ minimum: 0, description: 'Epoch milliseconds.' }),
      ]),
    ),
    ttlMs: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 30 * 86_400_000, description: 'Counted from the record timestamp.' }),
    ),
    retry: Type.Optional(Type.Literal(false, { description: 'One attempt, then fallback or dead letter.' })),
    priority: Type.Optional(prioritySchema),
    orderingKey: Type.Optional(Type.String({ minLength: 1, maxLength: 512, description: 'Default: the record key.' })),
    fallback: Type.Optional(
      Type.Union([
        Type.Literal(false, { description: 'No answer but the live one.' }),
        Type.Literal('cached'),
        Type.Object(
          { default: Type.Unknown({ description: 'Body to answer with when there is no live answer.' }) },
          { additionalProperties: false },
        ),
      ]),
    ),
    context: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'Returned in the result.' })),
  },
  { $id: 'https://larkspur.dev/schemas/call.schema.json', title: 'Call', additionalProperties: false },
);

/** One outbound API call, as its user wrote it. */
export type Call = Static<typeof callSchema>;

/** A call's priority class. */
export type Priority = Static<typeof prioritySchema>;

/** One of them. */
export type Method = (typeof methods)[number];

/** The method of a call: as given, else POST when there is a body, else GET. */
export function methodOf(call: Call): Method {
  if (call.method !== undefined) return call.method;
  return call.body === undefined && call.multipart === undefined ? 'GET' : 'POST';
}

// Names that decide where a request goes, how long it is, or who it speaks for. They are ours to set.
const reservedHeaders = new Set([
  'authorization',
  'connection',
  'content-length',
  'cookie',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-feishu-openid',
  'x-request-id',
  'x-retry-count',
  'request-id',
]);

/** Whether a request header is for Larkspur alone to set; any case. */
export function isReservedHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return reservedHeaders.has(lower) || lower.startsWith('larkspur-');
}

/** One mistake in a call: where, and what is wrong. */
export interface CallFault {
  /** JSON pointer, e.g. `/path`. */
  readonly at: string;
  readonly message: string;
}

/**
 * The rules that a JSON Schema cannot say: the path stays on its host, headers cannot smuggle, body kinds exclude each
 * other. Returns all faults, not the first.
 */
export function callFaults(call: Call): CallFault[] {
  const faults: CallFault[] = [];
  const pathFault = faultOfPath(call.path);
  if (pathFault !== undefined) faults.push({ at: '/path', message: pathFault });
  for (const name of Object.keys(call.headers ?? {})) {
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) {
      faults.push({ at: `/headers/${name}`, message: 'is not a valid HTTP header name' });
    } else if (isReservedHeader(name)) {
      faults.push({ at: `/headers/${name}`, message: 'is set by Larkspur and cannot be given' });
    }
  }
  for (const field of ['body', 'context', 'fallback'] as const) {
    if (nestsTooDeep(call[field])) {
      faults.push({ at: `/${field}`, message: `nests more than ${mostJsonLevels} levels deep` });
    }
  }
  if (call.body !== undefined && call.multipart !== undefined) {
    faults.push({ at: '/multipart', message: 'cannot be combined with body' });
  }
  if (methodOf(call) === 'GET' && (call.body !== undefined || call.multipart !== undefined)) {
    faults.push({ at: '/method', message: 'GET cannot carry a body' });
  }
  if (call.deadline !== undefined && call.ttlMs !== undefined) {
    faults.push({ at: '/ttlMs', message: 'cannot be combined with deadline' });
  }
  for (const [index, part] of (call.multipart ?? []).entries()) {
    if ((part.value === undefined) === (part.base64 === undefined)) {
      faults.push({ at: `/multipart/${index}`, message: 'needs exactly one of value and base64' });
    }
    if (part.base64 !== undefined && !isBase64(part.base64)) {
      faults.push({ at: `/multipart/${index}/base64`, message: 'is not base64' });
    }
  }
  return faults;
}

// Line breaks and the alphabet of URLs are what encoders write, too. Node's decoder skips whatever it does not know.
function isBase64(text: string): boolean {
  const digits = text.replace(/\s+/g, '').replace(/={1,2}$/, '');
  return digits.length % 4 !== 1 && /^[A-Za-z0-9+/_-]*$/.test(digits);
}

// What nearly every path looks like: plain segments, none of which begins with a dot.
const plainPath = /^(?:\/[\w~-][\w.~-]*)+$/;

/** Why a path is refused, or `undefined` when it stays on its host. Percent-encoded forms count as what they decode to. */
function faultOfPath(path: string): string | undefined {
  if (plainPath.test(path)) return undefined;
  let plain = path;
  // Twice: a proxy behind the upstream's door may decode once more than we do.
  for (let round = 0; round < 2; round++) {
    try {
      plain = decodeURIComponent(plain);
    } catch {
      return 'has a broken percent-encoding';
    }
  }
  if (/[\u0000-\u0020\u007f]/.test(path) || /[\u0000-\u001f\u007f]/.test(plain))
    return 'has control characters or blanks';
  if (/^\/[/\\]/.test(plain)) return 'must not start with //: the base of the upstream decides the host';
  if (path.includes('//')) return 'must not contain //';
  if (plain.includes('\\')) return 'must not contain a backslash';
  if (plain.includes('@')) return 'must not contain @';
  if (/[?#]/.test(path)) return 'must not contain ? or #: use query';
  if (plain.split('/').some((segment) => segment === '.' || segment === '..')) return 'must not climb with . or ..';
  if (/^\/?[a-z][a-z0-9+.-]*:\/\//i.test(plain)) return 'must not be a URL';
  return undefined;
}
