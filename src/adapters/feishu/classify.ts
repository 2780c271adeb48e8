import type { Exchange, OutcomeClass, Verdict, VerdictKind } from '../../model/outcome.ts';
import { transportVerdict } from '../../model/transport-verdict.ts';
import { askedWaitMs } from '../../operators/retry/retry-after.ts';
import type { CallPlan } from '../../ports/profile.ts';

import { apiCatalogue } from './catalogue/apis.ts';
import { codeCatalogue, type CodeRule, ruleOf } from './catalogue/codes.ts';
import { type Envelope, readEnvelope } from './envelope.ts';
import { monthlyLimitKey, receiverLimitKey } from './limits.ts';
import { monthlyQuotaCode, quotaResetMs } from './quota-reset.ts';

type Answer = Extract<Exchange, { kind: 'answered' }>;

/** A wait longer than this is no rate limit that passes, but a quota. */
const longestCoolDownMs = 3_600_000;

/**
 * Judges one attempt at Feishu. Order: no answer, the code as this service means it, the code in general, the HTTP
 * status. Total and pure; never throws, whatever came.
 * @param wallMs epoch milliseconds, for dates in headers and for the reset of quotas
 */
export function classifyFeishu(exchange: Exchange, plan: CallPlan, wallMs: number): Verdict {
  if (exchange.kind === 'failed') return transportVerdict(exchange);
  const envelope = readEnvelope(exchange.body);
  const askedMs = askedWaitMs(exchange.headers, wallMs);
  const rule = unknownOutcome(limitedForLong(ruleFor(exchange, envelope, plan), askedMs), exchange.status, plan);
  const logId = exchange.headers['x-tt-logid'] ?? exchange.headers['x-request-id'] ?? envelope.logId;
  return {
    class: rule.class,
    kind: rule.kind,
    status: exchange.status,
    ...(envelope.code === undefined ? {} : { code: envelope.code }),
    ...(logId === undefined ? {} : { logId: logId.slice(0, 100) }),
    message: messageOf(exchange, envelope),
    askedMs: rule.class === 'quota' && askedMs === 0 ? quotaResetMs(envelope.code, wallMs) : askedMs,
    errorType: errorTypes[rule.kind],
    ...(isFailure(rule.class) && rule.effect !== 'none' ? { mayHaveActed: true as const } : {}),
    ...bucketOf(envelope.code, plan),
  };
}

/** "Too many messages to this chat": other chats of the same API are not meant. */
const receiverLimitCode = 230_020;

function bucketOf(code: number | undefined, plan: CallPlan): { readonly limitKey?: string } {
  const keyOf = code === receiverLimitCode ? receiverLimitKey : code === monthlyQuotaCode ? monthlyLimitKey : undefined;
  const limitKey = keyOf?.(plan.limits);
  return limitKey === undefined ? {} : { limitKey };
}

function ruleFor(answer: Answer, envelope: Envelope, plan: CallPlan): CodeRule {
  const { status } = answer;
  const isConsent = envelope.oauthError !== undefined && consentWords.has(envelope.oauthError);
  if (envelope.code !== undefined) {
    const { service = '' } = plan;
    const known = ruleOf(codeCatalogue(), envelope.code, { status, service, text: envelope.text });
    // A code 0 beside an error status is no success: a proxy answered, or the body is not an envelope.
    if (known !== undefined && (known.class !== 'success' || isOk(status))) return known;
    if (isConsent) return auth('consent');
    if (isOk(status)) return permanent('invalid');
    return ruleOfStatus(status);
  }
  if (isConsent) return auth('consent');
  if (isOk(status)) return isFile(answer, plan) ? success : ruleOfStatus(502);
  return ruleOfStatus(status);
}

/** OAuth words that mean: the user must authorize again. */
const consentWords = new Set(['invalid_grant', 'access_denied', 'consent_required', 'login_required']);

const success: CodeRule = { class: 'success', kind: 'ok', effect: 'done' };
const permanent = (kind: VerdictKind): CodeRule => ({ class: 'permanent', kind, effect: 'none' });
const auth = (kind: 'token' | 'consent'): CodeRule => ({ class: 'auth', kind, effect: 'none' });

/** What a status says when the body says nothing. */
function ruleOfStatus(status: number): CodeRule {
  if (status === 429) return { class: 'rate-limited', kind: 'rate', effect: 'none' };
  if (status === 401) return auth('token');
  if (status === 403) return permanent('permission');
  if (status === 404 || status === 410) return permanent('gone');
  if (status === 409) return { class: 'retryable', kind: 'conflict', effect: 'none' };
  // The server gave up waiting for the request, or wants it later: nothing was done.
  if (status === 408 || status === 425) return { class: 'retryable', kind: 'timeout', effect: 'none' };
  if (status === 504) return { class: 'ambiguous', kind: 'timeout', effect: 'unknown' };
  if (status >= 500) return { class: 'retryable', kind: 'internal', effect: 'unknown' };
  return permanent('invalid');
}

function limitedForLong(rule: CodeRule, askedMs: number): CodeRule {
  return rule.class === 'rate-limited' && askedMs > longestCoolDownMs
    ? { ...rule, class: 'quota', kind: 'quota' }
    : rule;
}

/** A failure that may have acted, on a call that must not be repeated, has an unknown outcome. */
function unknownOutcome(rule: CodeRule, status: number, plan: CallPlan): CodeRule {
  const mayHaveActed = rule.class === 'retryable' && rule.effect !== 'none';
  if (!mayHaveActed) return rule;
  return plan.repeat.kind === 'never' || status === 504 ? { ...rule, class: 'ambiguous' } : rule;
}

function isFailure(outcome: OutcomeClass): boolean {
  return outcome !== 'success' && outcome !== 'duplicate';
}

function isOk(status: number): boolean {
  return status >= 200 && status < 300;
}

/** Whether a body without a code is what was asked for: a file, by the catalogue or, for unknown APIs, by its headers. */
function isFile(answer: Answer, plan: CallPlan): boolean {
  const api = apiCatalogue().byLabel(plan.api);
  if (api !== undefined) return api.download;
  return answer.headers['content-disposition']?.startsWith('attachment') === true;
}

function messageOf(answer: Answer, { code, text, oauthError }: Envelope): string {
  if (code === undefined && oauthError === undefined) {
    const size = answer.body.length === 0 ? 'an empty body' : `${answer.body.length} bytes without a code`;
    return `HTTP ${answer.status} with ${size}`;
  }
  const word = code === undefined ? `error ${oauthError ?? ''}` : `code ${code}`;
  return text === '' ? `HTTP ${answer.status}, ${word}` : `HTTP ${answer.status}, ${word}: ${masked(text)}`;
}

/** Feishu's texts may echo what was sent: nothing that looks like a token goes on. */
function masked(text: string): string {
  return text.replace(/\b(?:[tua]|ur)-[\w.-]{12,}|\beyJ[\w.-]{12,}/g, '***');
}

/** Bounded words for metrics. */
const errorTypes = {
  ok: 'none',
  rate: 'rate_limited',
  internal: 'server_error',
  conflict: 'conflict',
  wait: 'in_progress',
  token: 'token_rejected',
  credential: 'credential',
  consent: 'consent',
  permission: 'permission',
  quota: 'quota',
  timeout: 'server_timeout',
  partial: 'partial',
  duplicate: 'duplicate',
  gone: 'gone',
  recipient: 'recipient',
  invalid: 'invalid',
  transport: 'transport',
} as const satisfies Record<VerdictKind, string>;
