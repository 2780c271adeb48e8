/** Every kind of fault. */
const faultKinds = [
  'timeout',
  'hang',
  'reset-before',
  'reset-after',
  '429',
  '400-99991400',
  '503',
  '502-html',
  'slow-drip',
  'token-revoked',
  'quota',
  'status',
  'code',
] as const;

/** What goes wrong. `src/sandbox/README.md` says what each does. */
export type FaultKind = (typeof faultKinds)[number];

/** Which requests a rule is for; all members must fit. Absent: all APIs and the echo, not the token endpoints. */
interface FaultMatch {
  readonly method?: string;
  /** Prefix, or a glob when it has a `*`: `*` stays within a segment, `**` does not. */
  readonly path?: string;
  readonly app?: string;
  /** Every nth fitting request, counted from 1. */
  readonly everyNth?: number;
  /** At most so many faults of this rule. */
  readonly times?: number;
}

/** One rule. Parameters that a kind does not use are refused. */
export interface FaultRule {
  readonly kind: FaultKind;
  /** Share of the fitting requests, 0 to 1; default 1. */
  readonly rate?: number;
  readonly match?: FaultMatch;
  /** `hang`: how long the answer takes; default 30,000. `slow-drip`: pause between two pieces; default 100. */
  readonly delayMs?: number;
  /** `timeout`: the effect takes place, although no answer ever comes. Default false. */
  readonly acts?: boolean;
  /** `hang`: the effect takes place at the end of the delay, not at its beginning. Default false. */
  readonly actsLate?: boolean;
  /** `429`, `400-99991400`: seconds in `x-ogw-ratelimit-reset`; default 1; 0 leaves the header out. */
  readonly resetSeconds?: number;
  /** `503`, `status`: what the body is. Default: empty. */
  readonly body?: 'empty' | 'json' | 'html';
  /** `status`, `code`: HTTP status; default 500 and 400. */
  readonly status?: number;
  /** `code`: the code in the body. */
  readonly code?: number;
  readonly msg?: string;
  /** `503`, `status`: seconds in `Retry-After`; absent: no such header. */
  readonly retryAfterSeconds?: number;
  /** `slow-drip`: bytes per piece; default 1. */
  readonly pieceBytes?: number;
  /** `token-revoked`: the token endpoint goes on giving the dead token. Default false. */
  readonly stuck?: boolean;
}

const paramsOf: Readonly<Record<FaultKind, readonly string[]>> = {
  timeout: ['acts'],
  hang: ['actsLate', 'delayMs'],
  'reset-before': [],
  'reset-after': [],
  '429': ['resetSeconds'],
  '400-99991400': ['resetSeconds'],
  '503': ['body', 'retryAfterSeconds'],
  '502-html': [],
  'slow-drip': ['delayMs', 'pieceBytes'],
  'token-revoked': ['stuck'],
  quota: [],
  status: ['status', 'body', 'retryAfterSeconds'],
  code: ['code', 'status', 'msg'],
};

type Check = readonly [is: (value: unknown) => boolean, wants: string];

const wholeFrom = (least: number, most: number): Check => [
  (value) => Number.isInteger(value) && (value as number) >= least && (value as number) <= most,
  `a whole number from ${least} to ${most}`,
];
const oneOf = (...allowed: readonly string[]): Check => [
  (value) => typeof value === 'string' && allowed.includes(value),
  `one of ${allowed.join(', ')}`,
];
const yesNo: Check = [(value) => typeof value === 'boolean', 'true or false'];
const text: Check = [(value) => typeof value === 'string' && value !== '', 'a text'];

const checks: Readonly<Record<string, Check>> = {
  kind: oneOf(...faultKinds),
  rate: [(value) => typeof value === 'number' && value >= 0 && value <= 1, 'a number from 0 to 1'],
  delayMs: wholeFrom(0, 86_400_000),
  acts: yesNo,
  actsLate: yesNo,
  resetSeconds: wholeFrom(0, 86_400),
  body: oneOf('empty', 'json', 'html'),
  status: wholeFrom(200, 599),
  code: wholeFrom(1, 999_999_999_999),
  msg: text,
  retryAfterSeconds: wholeFrom(0, 86_400),
  pieceBytes: wholeFrom(1, 1_000_000),
  stuck: yesNo,
};
const matchChecks: Readonly<Record<string, Check>> = {
  method: text,
  path: text,
  app: text,
  everyNth: wholeFrom(1, 1_000_000_000),
  times: wholeFrom(1, 1_000_000_000),
};

/** A set of rules, or every mistake in it with its place. */
export type ParsedRules =
  | { readonly rules: readonly FaultRule[]; readonly mistakes?: never }
  | { readonly rules?: never; readonly mistakes: readonly string[] };

/** Reads `{ "rules": [...] }` or a bare list. */
export function parseRules(input: unknown): ParsedRules {
  const list = isObject(input) ? input['rules'] : input;
  if (!Array.isArray(list)) return { mistakes: ['rules: must be a list'] };
  const mistakes = list.flatMap((rule: unknown, index) => mistakesOf(rule, `rules[${index}]`));
  return mistakes.length > 0 ? { mistakes } : { rules: list as FaultRule[] };
}

function mistakesOf(rule: unknown, at: string): string[] {
  if (!isObject(rule)) return [`${at}: must be an object`];
  const kind = faultKinds.find((known) => known === rule['kind']);
  const mistakes = kind === undefined ? [`${at}.kind: must be ${checks['kind']?.[1] ?? ''}`] : [];
  for (const [name, value] of Object.entries(rule)) {
    if (name === 'kind') continue;
    if (name === 'match') {
      mistakes.push(...mistakesOfMatch(value, `${at}.match`));
      continue;
    }
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    if (check === undefined) mistakes.push(`${at}.${name}: is not a member of a rule`);
    else if (!check[0](value)) mistakes.push(`${at}.${name}: must be ${check[1]}`);
    else if (kind !== undefined && name !== 'rate' && !paramsOf[kind].includes(name)) {
      mistakes.push(`${at}.${name}: has no meaning for ${kind}`);
    }
  }
  if (kind === 'code' && rule['code'] === undefined) mistakes.push(`${at}.code: is missing`);
  return mistakes;
}

function mistakesOfMatch(match: unknown, at: string): string[] {
  if (!isObject(match)) return [`${at}: must be an object`];
  return Object.entries(match).flatMap(([name, value]) => {
    const check = Object.hasOwn(matchChecks, name) ? matchChecks[name] : undefined;
    if (check === undefined) return [`${at}.${name}: is not a member of match`];
    return check[0](value) ? [] : [`${at}.${name}: must be ${check[1]}`];
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
