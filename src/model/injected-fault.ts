import { type Static, Type } from '@sinclair/typebox';

import { globMatcher, pathMatcher } from './rule-book.ts';

/** What may be made to go wrong on the way to an upstream. */
export const injectedKinds = ['timeout', '503', '429', 'latency', 'reset'] as const;

/** One of them. */
export type InjectedKind = (typeof injectedKinds)[number];

const text = (description: string) => Type.String({ minLength: 1, maxLength: 300, description });

/** One rule: which requests, and what they meet. A parameter that its kind does not use is a mistake ({@link ruleFaults}). */
export const injectedFaultSchema = Type.Object(
  {
    kind: Type.Unsafe<InjectedKind>(Type.Union(injectedKinds.map((kind) => Type.Literal(kind)))),
    rate: Type.Optional(
      Type.Number({ minimum: 0, maximum: 1, description: 'share of the fitting requests; default 1' }),
    ),
    match: Type.Optional(
      Type.Object(
        {
          upstream: Type.Optional(text('name of the upstream')),
          host: Type.Optional(text('host, or host:port; * for one label, ** for any')),
          method: Type.Optional(text('GET, POST ...')),
          path: Type.Optional(text('prefix, or with * (one segment) and ** (any) the whole path')),
          everyNth: Type.Optional(Type.Integer({ minimum: 1, maximum: 1e9, description: 'every nth fitting request' })),
          times: Type.Optional(Type.Integer({ minimum: 1, maximum: 1e9, description: 'so often at most' })),
        },
        { additionalProperties: false, description: 'absent: every call, token endpoints not among them' },
      ),
    ),
    delayMs: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 600_000, description: 'latency: how much; default 100' }),
    ),
    acts: Type.Optional(
      Type.Boolean({ description: 'timeout, reset: the request does go out, its answer is lost; default false' }),
    ),
    resetSeconds: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 86_400, description: '429: until it may come again; default 1' }),
    ),
    retryAfterSeconds: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 86_400, description: '503: in Retry-After; absent: none' }),
    ),
  },
  { additionalProperties: false },
);

/** One rule of faults on purpose. */
export type InjectedFault = Static<typeof injectedFaultSchema>;

/** A request, as rules look at it. */
export interface FaultSubject {
  /** `undefined` where requests pass that belong to no upstream. */
  readonly upstream: string | undefined;
  /** With its port. */
  readonly host: string;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
}

const parameters: Readonly<Record<InjectedKind, readonly string[]>> = {
  timeout: ['acts'],
  '503': ['retryAfterSeconds'],
  '429': ['resetSeconds'],
  latency: ['delayMs'],
  reset: ['acts'],
};
const always = new Set(['kind', 'rate', 'match']);

/** What is wrong with a rule that the schema cannot say: where within it, and what. */
export function ruleFaults(rule: InjectedFault): { readonly key: string; readonly message: string }[] {
  const known = parameters[rule.kind];
  return Object.keys(rule)
    .filter((key) => !always.has(key) && !known.includes(key))
    .map((key) => ({ key, message: `has no meaning for ${rule.kind}; it takes ${known.join(', ')}` }));
}

/** How long, in milliseconds, a rule's answer tells callers to stay away after its time is over. 0: not at all. */
export function waitMsOf({ kind, resetSeconds = 1, retryAfterSeconds = 0 }: InjectedFault): number {
  return kind === '429' ? resetSeconds * 1_000 : kind === '503' ? retryAfterSeconds * 1_000 : 0;
}

/** The same rule with a wait of at most so many milliseconds, in whole seconds, 1 at least; itself where it asks for no more. */
export function waitingAtMost(rule: InjectedFault, mostMs: number): InjectedFault {
  const mostSeconds = Math.max(1, Math.floor(mostMs / 1_000));
  const { resetSeconds, retryAfterSeconds } = rule;
  if ((resetSeconds ?? 0) <= mostSeconds && (retryAfterSeconds ?? 0) <= mostSeconds) return rule;
  return {
    ...rule,
    ...(resetSeconds === undefined ? {} : { resetSeconds: Math.min(resetSeconds, mostSeconds) }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds: Math.min(retryAfterSeconds, mostSeconds) }),
  };
}

// A rule that names no path leaves them alone: without tokens nothing else could be looked at.
const tokenEndpoint = /\/open-apis\/auth(en)?\//;

/** Whether requests are among those that a rule is for. */
export function fitting({ match = {} }: InjectedFault): (subject: FaultSubject) => boolean {
  const { upstream, host, method, path } = match;
  const fitsHost = host === undefined ? undefined : globMatcher(host.toLowerCase(), '.');
  const fitsPath = path === undefined ? undefined : pathMatcher(path);
  return (subject) =>
    (upstream === undefined || upstream === subject.upstream) &&
    (fitsHost === undefined || fitsHost(subject.host) || fitsHost(subject.host.replace(/:\d+$/, ''))) &&
    (method === undefined || method.toUpperCase() === subject.method) &&
    (fitsPath === undefined ? !tokenEndpoint.test(subject.path) : fitsPath(subject.path));
}
