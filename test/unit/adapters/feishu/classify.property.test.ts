import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { codeCatalogue } from '../../../../src/adapters/feishu/catalogue/codes.ts';
import { classifyFeishu } from '../../../../src/adapters/feishu/classify.ts';
import type { Exchange, Verdict } from '../../../../src/model/outcome.ts';
import type { CallPlan } from '../../../../src/ports/profile.ts';

import { planFor } from './answers.ts';

type Classify = (exchange: Exchange, plan: CallPlan, wallMs: number) => Verdict;

const codes = [...codeCatalogue().keys()];
const failures = [
  'refused',
  'dns',
  'connect-timeout',
  'tls',
  'certificate',
  'attempt-timeout',
  'reset',
  'response-too-large',
  'bad-response',
  'aborted',
] as const;
const classes = ['success', 'duplicate', 'rate-limited', 'quota', 'retryable', 'auth', 'ambiguous', 'permanent'];

const anyCode = fc.oneof(fc.constantFrom(...codes), fc.integer(), fc.constant(0));
const anyBody = fc.oneof(
  fc
    .record({ code: fc.oneof(anyCode, fc.jsonValue()), msg: fc.oneof(fc.string(), fc.jsonValue()) })
    .map((body) => Buffer.from(JSON.stringify(body))),
  fc.record({ StatusCode: anyCode, error: fc.jsonValue() }).map((body) => Buffer.from(JSON.stringify(body))),
  fc.json().map((text) => Buffer.from(text)),
  fc.uint8Array({ maxLength: 200, size: 'max' }).map((bytes) => Buffer.from(bytes)),
  fc.constant(Buffer.alloc(0)),
);
const anyHeaders = fc.dictionary(
  fc.constantFrom('retry-after', 'x-ogw-ratelimit-reset', 'x-tt-logid', 'content-disposition'),
  fc.oneof(fc.string(), fc.nat().map(String)),
);
const anyExchange: fc.Arbitrary<Exchange> = fc.oneof(
  fc.record({
    kind: fc.constant('answered' as const),
    status: fc.integer({ min: 100, max: 599 }),
    headers: anyHeaders,
    body: anyBody,
  }),
  fc.record({
    kind: fc.constant('failed' as const),
    failure: fc.constantFrom(...failures),
    sent: fc.boolean(),
    message: fc.string(),
  }),
);
const plans = (['always', 'never', 'keyed'] as const).map((kind) =>
  planFor('im', kind === 'keyed' ? { kind, windowMs: 1 } : { kind }),
);

/** Exactly one verdict for anything, the same each time, and none that would repeat what may have acted. */
const isTotal = (classify: Classify) =>
  fc.property(anyExchange, fc.constantFrom(...plans), fc.nat(), (exchange, plan, wallMs) => {
    const verdict = classify(exchange, plan, wallMs);
    expect(classes).toContain(verdict.class);
    expect(classify(exchange, plan, wallMs)).toEqual(verdict);
    expect(verdict.askedMs).toBeGreaterThanOrEqual(0);
    if (verdict.mayHaveActed) expect(['retryable', 'ambiguous']).toContain(verdict.class);
    if (verdict.class === 'retryable' && verdict.mayHaveActed) expect(plan.repeat.kind).not.toBe('never');
    if (exchange.kind === 'failed') {
      expect(verdict.class === 'ambiguous').toBe(
        exchange.sent && exchange.failure !== 'certificate' && exchange.failure !== 'response-too-large',
      );
    } else if (verdict.class === 'success') {
      expect(exchange.status).toBeGreaterThanOrEqual(200);
      expect(exchange.status).toBeLessThan(300);
      expect(verdict.code ?? 0).toBe(0);
    }
  });

const runs = { numRuns: 3_000, seed: 29 };

/** Mistakes that a classifier may well have. */
const mutants: Readonly<Record<string, Classify>> = {
  'trusts the status 200': (exchange, plan, wallMs) => {
    const verdict = classifyFeishu(exchange, plan, wallMs);
    return verdict.status === 200 ? { ...verdict, class: 'success' } : verdict;
  },
  'repeats what was sent': (exchange, plan, wallMs) => {
    const verdict = classifyFeishu(exchange, plan, wallMs);
    return exchange.kind === 'failed' && exchange.failure === 'reset' ? { ...verdict, class: 'retryable' } : verdict;
  },
  'forgets that a POST without a key cannot be repeated': (exchange, plan, wallMs) =>
    classifyFeishu(exchange, { ...plan, repeat: { kind: 'always' } }, wallMs),
  'parses without looking': (exchange, plan, wallMs) => {
    if (exchange.kind === 'answered') JSON.parse(exchange.body.toString());
    return classifyFeishu(exchange, plan, wallMs);
  },
};

describe('classifyFeishu, invariant 29', () => {
  it('maps anything that can come to exactly one verdict', () => {
    fc.assert(isTotal(classifyFeishu), runs);
  });

  it.each(Object.entries(mutants))('catches a classifier that %s', (_, mutant) => {
    expect(fc.check(isTotal(mutant), runs).failed).toBe(true);
  });
});
