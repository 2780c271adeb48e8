import { hash } from 'node:crypto';

import { type Call, methodOf, methods } from '../../model/call.ts';
import type { Exchange, Verdict } from '../../model/outcome.ts';
import { encodeBody, encodeHeaders, encodeTarget } from '../../model/request-body.ts';
import { transportVerdict } from '../../model/transport-verdict.ts';
import { askedWaitMs } from '../../operators/retry/retry-after.ts';
import type { CallPlan, GroupRule, Profile, RateWindow, Repeat } from '../../ports/profile.ts';

/** What may be set for a plain HTTP upstream. */
export interface HttpProfileOptions {
  /** Name of the upstream: its label, breaker and quota key. */
  readonly upstream: string;
  /** Origin with an optional path prefix. */
  readonly baseUrl: string;
  /** Windows that all calls share; none: no limit. */
  readonly limits?: readonly RateWindow[];
  /** How the upstream recognises a repeated POST or PATCH; absent: it does not. */
  readonly idempotencyKey?: IdempotencyKey | undefined;
  /** Groups of its APIs; of several that fit the first counts. */
  readonly groups?: readonly GroupRule[];
}

/** The upstream's promise to do a POST or PATCH once, however often it comes with the same key. */
export interface IdempotencyKey {
  /** Request header that carries the key; any case. */
  readonly header: string;
  /** How long the upstream remembers a key, milliseconds. */
  readonly windowMs: number;
}

/** No repeat of an unknown outcome after this share of the key's window: clocks differ and requests travel. */
const usableShare = 0.8;

/**
 * A generic upstream, judged by status and error alone. After an unknown outcome GET, PUT and DELETE are repeated, as
 * HTTP defines them; POST and PATCH only where the upstream promises to recognise a key, which is derived from the id
 * unless the caller gave one.
 */
export function httpProfile(options: HttpProfileOptions): Profile {
  const { upstream } = options;
  const base = new URL(options.baseUrl);
  const prefix = base.pathname.replace(/\/$/, '');
  // Also without a limit there is a key: a refusal cools it down.
  const limits = [{ key: upstream, windows: options.limits ?? [], label: upstream }];
  // Paths of a plain upstream are unbounded, so its label is the method alone.
  const labels = new Map(methods.map((method) => [method, `${method} ${upstream}`]));

  const breakerKey = `${base.host}/${upstream}`;
  const { groups = [] } = options;
  const keyHeader = options.idempotencyKey?.header.toLowerCase();
  const unsafe: Repeat =
    options.idempotencyKey === undefined
      ? { kind: 'never' }
      : { kind: 'keyed', windowMs: Math.floor(options.idempotencyKey.windowMs * usableShare) };

  const plan = (call: Call, id: string): CallPlan => {
    const method = methodOf(call);
    const group = groups.find((one) => one.has(call.path, []))?.name;
    const repeat = method === 'POST' || method === 'PATCH' ? unsafe : always;
    return {
      api: labels.get(method) ?? method,
      breakerKey: group === undefined ? breakerKey : `${breakerKey}/group/${group}`,
      group,
      limits,
      repeat,
      token: undefined,
      request: () => {
        const body = encodeBody(call, id);
        const headers = encodeHeaders(call, body?.contentType);
        if (repeat.kind === 'keyed' && keyHeader !== undefined) headers[keyHeader] ??= keyOf(id);
        return {
          method,
          path: encodeTarget(prefix + call.path, call.query),
          headers,
          body: body?.bytes,
        };
      },
    };
  };
  return { plan, classify: classifyHttp };
}

const always: Repeat = { kind: 'always' };

/** The same on every attempt, replica and restart. */
function keyOf(id: string): string {
  return `lk-${hash('sha256', `key ${id}`, 'hex').slice(0, 32)}`;
}

/** A wait longer than this is no rate limit that passes, but a quota. */
const longestCoolDownMs = 3_600_000;

/**
 * Judges an attempt by its status, or by its error when no answer came. Total: every status has its verdict, and all but
 * 2xx, 408, 425, 429, 500, 502, 503 and 504 are final at once.
 */
export function classifyHttp(exchange: Exchange, plan: CallPlan, wallMs: number): Verdict {
  if (exchange.kind === 'failed') return transportVerdict(exchange);
  const { status, headers } = exchange;
  // Nearly all answers: written out, because spreading costs more than judging.
  if (status >= 200 && status < 300) {
    const message = `HTTP ${status}`;
    return withLogId({ class: 'success', kind: 'ok', askedMs: 0, errorType: 'none', status, message }, headers);
  }
  return withLogId(
    { ...judge(status, plan, askedWaitMs(headers, wallMs)), status, message: `HTTP ${status}` },
    headers,
  );
}

function withLogId(verdict: Verdict, headers: Readonly<Record<string, string>>): Verdict {
  const logId = headers['x-request-id'];
  return logId === undefined ? verdict : { ...verdict, logId: logId.slice(0, 100) };
}

type Judged = Pick<Verdict, 'class' | 'kind' | 'askedMs' | 'errorType' | 'mayHaveActed'>;

/** Of an answer that is no success. */
function judge(status: number, plan: CallPlan, askedMs: number): Judged {
  switch (status) {
    case 429:
      return askedMs > longestCoolDownMs
        ? { class: 'quota', kind: 'quota', askedMs, errorType: 'quota' }
        : { class: 'rate-limited', kind: 'rate', askedMs, errorType: 'rate_limited' };
    case 408:
    case 425:
      // The server gave up waiting for the request, or wants it later: nothing was done.
      return { class: 'retryable', kind: 'timeout', askedMs, errorType: 'server_timeout' };
    case 504:
      return { class: 'ambiguous', kind: 'timeout', askedMs, errorType: 'server_timeout', mayHaveActed: true };
    case 500:
    case 502:
    case 503:
      return {
        class: plan.repeat.kind === 'never' ? 'ambiguous' : 'retryable',
        kind: 'internal',
        askedMs,
        errorType: 'server_error',
        mayHaveActed: true,
      };
    case 401:
    case 403:
      return { class: 'permanent', kind: 'permission', askedMs: 0, errorType: 'permission' };
    case 404:
    case 410:
      return { class: 'permanent', kind: 'gone', askedMs: 0, errorType: 'gone' };
    default:
      return { class: 'permanent', kind: 'invalid', askedMs: 0, errorType: 'invalid' };
  }
}
