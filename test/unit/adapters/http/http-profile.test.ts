import { describe, expect, it } from 'vitest';

import { classifyHttp, httpProfile } from '../../../../src/adapters/http/http-profile.ts';
import type { Call } from '../../../../src/model/call.ts';
import type { Exchange } from '../../../../src/model/outcome.ts';
import type { CallPlan, Repeat } from '../../../../src/ports/profile.ts';

const profile = httpProfile({
  upstream: 'news',
  baseUrl: 'http://news.internal/v2/',
  limits: [{ limit: 100, windowMs: 1_000 }],
});

const planned = (call: Call, id = 'id-1'): CallPlan => {
  const plan = profile.plan(call, id);
  if ('reason' in plan) return expect.fail(plan.message);
  return plan;
};

const answered = (status: number, headers: Record<string, string> = {}): Exchange => ({
  kind: 'answered',
  status,
  headers,
  body: Buffer.alloc(0),
});

const judge = (status: number, repeat: Repeat = { kind: 'always' }, headers: Record<string, string> = {}) =>
  classifyHttp(answered(status, headers), { ...planned({ path: '/a' }), repeat }, 0);

describe('httpProfile, plan', () => {
  it('puts the path behind the prefix of the base and repeats list parameters', () => {
    const plan = planned({ path: '/items', query: { id: ['a', 'b c'], n: 1 } });
    expect(plan).toMatchObject({
      api: 'GET news',
      breakerKey: 'news.internal/news',
      limits: [{ key: 'news', windows: [{ limit: 100, windowMs: 1_000 }] }],
      repeat: { kind: 'always' },
      token: undefined,
    });
    const path = '/v2/items?id=a&id=b%20c&n=1';
    expect(plan.request()).toEqual({ method: 'GET', path, headers: {}, body: undefined });
  });

  it.each(['POST', 'PATCH'] as const)(
    'never repeats a %s, and gives it no key that nobody promised to read',
    (method) => {
      const { repeat, request } = planned({ path: '/items', method, body: { a: 1 } });
      expect(repeat).toEqual({ kind: 'never' });
      expect(request().headers).toEqual({ 'content-type': 'application/json; charset=utf-8' });
    },
  );

  it("passes a caller's own key on without trusting the upstream to read it", () => {
    const { repeat, request } = planned({ path: '/items', body: {}, headers: { 'Idempotency-Key': 'mine' } });
    expect([repeat.kind, request().headers['idempotency-key']]).toEqual(['never', 'mine']);
  });

  it.each(['GET', 'PUT', 'DELETE'] as const)('repeats a %s, as HTTP defines it', (method) => {
    expect(planned({ path: '/items/1', method }).repeat).toEqual({ kind: 'always' });
  });

  describe('for an upstream that recognises a key', () => {
    const keyed = httpProfile({
      upstream: 'news',
      baseUrl: 'http://news.internal',
      idempotencyKey: { header: 'X-Once', windowMs: 1_000 },
    });
    const plan = (call: Call, id = 'id-1'): CallPlan => {
      const made = keyed.plan(call, id);
      return 'reason' in made ? expect.fail(made.message) : made;
    };

    it('gives POST and PATCH one that depends on the id alone, and uses 80 % of its window', () => {
      const post = plan({ path: '/items', body: { a: 1 } });
      const patch = plan({ path: '/other', method: 'PATCH', body: { b: 2 } });
      expect(post.repeat).toEqual({ kind: 'keyed', windowMs: 800 });
      expect(post.request().headers['x-once']).toMatch(/^lk-[0-9a-f]{32}$/);
      expect(patch.request().headers['x-once']).toBe(post.request().headers['x-once']);
      expect(plan({ path: '/items', body: { a: 1 } }, 'id-2').request().headers['x-once']).not.toBe(
        post.request().headers['x-once'],
      );
    });

    it('gives none to what may be repeated anyway', () => {
      const { repeat, request } = plan({ path: '/items/1', method: 'PUT', body: {} });
      expect([repeat.kind, request().headers['x-once']]).toEqual(['always', undefined]);
    });

    it("keeps a caller's own key, and writes header names in lower case", () => {
      const { request } = plan({ path: '/items', body: {}, headers: { 'X-ONCE': 'mine', 'X-A': 'b' } });
      expect(request().headers).toEqual({
        'content-type': 'application/json; charset=utf-8',
        'x-once': 'mine',
        'x-a': 'b',
      });
    });
  });

  it('has a bucket without windows when no limit is set: only refusals cool it down', () => {
    const plan = httpProfile({ upstream: 'ip', baseUrl: 'http://ip.internal' }).plan({ path: '/' }, 'x');
    expect(plan).toMatchObject({ limits: [{ key: 'ip', windows: [] }] });
  });
});

describe('httpProfile, classify', () => {
  it('S000-11: repeats 429, 500, 502, 503, 504, 408 and 425 alone; every other status ends at once', () => {
    const again = new Set(['retryable', 'rate-limited', 'ambiguous']);
    const repeated = Array.from({ length: 500 }, (_, i) => 100 + i).filter((status) => again.has(judge(status).class));
    expect(repeated).toEqual([408, 425, 429, 500, 502, 503, 504]);
    expect(judge(400)).toMatchObject({ class: 'permanent', kind: 'invalid' });
    expect(judge(503)).toMatchObject({ class: 'retryable', kind: 'internal' });
  });

  it.each([200, 201, 202, 204, 299])('S000-14: takes %i for success', (status) => {
    expect(judge(status)).toMatchObject({ class: 'success', askedMs: 0, status });
  });

  it.each([500, 502, 503])('S002-05: calls the outcome of %i unknown when the call must not be repeated', (status) => {
    expect(judge(status, { kind: 'never' })).toMatchObject({ class: 'ambiguous', errorType: 'server_error' });
    expect(judge(status, { kind: 'keyed', windowMs: 1 })).toMatchObject({ class: 'retryable', mayHaveActed: true });
  });

  it('calls the outcome of 504 unknown for every call', () => {
    expect(judge(504)).toMatchObject({ class: 'ambiguous', kind: 'timeout', mayHaveActed: true });
  });

  it('S000-77: takes the wait that a refusal asks for, and a very long one for a quota', () => {
    expect(judge(429, undefined, { 'retry-after': '7' })).toMatchObject({ class: 'rate-limited', askedMs: 7_000 });
    expect(judge(429, undefined, { 'retry-after': '3600' })).toMatchObject({ class: 'rate-limited' });
    expect(judge(429, undefined, { 'retry-after': '3601' })).toMatchObject({ class: 'quota', askedMs: 3_601_000 });
  });

  it('S002-05: tells a time-out, a refused connection and a 500 apart', () => {
    const plan = planned({ path: '/a' });
    const failed = (failure: 'attempt-timeout' | 'refused', sent: boolean) =>
      classifyHttp({ kind: 'failed', failure, sent, message: failure }, plan, 0);
    expect(failed('attempt-timeout', true)).toMatchObject({ class: 'ambiguous', errorType: 'timeout' });
    expect(failed('refused', false)).toMatchObject({ class: 'retryable', errorType: 'refused' });
    expect(judge(500)).toMatchObject({ errorType: 'server_error' });
  });
});
