import { describe, expect, it } from 'vitest';

import { classifyFeishu } from '../../../../src/adapters/feishu/classify.ts';
import type { Exchange, OutcomeClass, TransportFailure } from '../../../../src/model/outcome.ts';
import type { Repeat } from '../../../../src/ports/profile.ts';

import { answered, planFor, planned } from './answers.ts';

const wallMs = Date.UTC(2026, 0, 15, 12);
const judge = (exchange: Exchange, service = 'im', repeat?: Repeat) =>
  classifyFeishu(exchange, planFor(service, repeat), wallMs);
const code = (number: number, status = 400, service = 'im', msg = 'text') =>
  judge(answered(status, { code: number, msg }), service);

describe('classifyFeishu without an answer', () => {
  it.each<[TransportFailure, boolean, OutcomeClass, string]>([
    ['refused', false, 'retryable', 'refused'],
    ['dns', false, 'retryable', 'dns'],
    ['connect-timeout', false, 'retryable', 'connect_timeout'],
    ['tls', false, 'retryable', 'tls'],
    ['reset', false, 'retryable', 'reset'],
    ['attempt-timeout', false, 'retryable', 'timeout'],
    ['aborted', false, 'retryable', 'aborted'],
    ['certificate', false, 'permanent', 'certificate'],
    ['bad-response', false, 'permanent', 'bad_response'],
    ['reset', true, 'ambiguous', 'reset'],
    ['attempt-timeout', true, 'ambiguous', 'timeout'],
    ['bad-response', true, 'ambiguous', 'bad_response'],
    ['aborted', true, 'ambiguous', 'aborted'],
    ['tls', true, 'ambiguous', 'tls'],
    ['response-too-large', true, 'permanent', 'response_too_large'],
  ])('P22, S002-05: %s (sent: %s) is %s, in every plan', (failure, sent, expected, errorType) => {
    for (const repeat of [{ kind: 'always' }, { kind: 'never' }, { kind: 'keyed', windowMs: 1 }] as const) {
      const verdict = judge({ kind: 'failed', failure, sent, message: 'what happened' }, 'im', repeat);
      expect(verdict).toMatchObject({ class: expected, errorType, message: 'what happened', askedMs: 0 });
      expect(verdict.mayHaveActed).toBe(expected === 'ambiguous' ? true : undefined);
    }
  });
});

describe('classifyFeishu, what goes along', () => {
  const limited = (headers: Record<string, string>) => judge(answered(400, { code: 99991400, msg: 'x' }, headers));

  it('S000-77: takes the longer of the waits that a refusal asks for, and more than an hour for a quota', () => {
    expect(limited({ 'x-ogw-ratelimit-reset': '52', 'retry-after': '3' })).toMatchObject({ askedMs: 52_000 });
    expect(limited({ 'x-ogw-ratelimit-reset': '3600' })).toMatchObject({ class: 'rate-limited' });
    expect(limited({ 'x-ogw-ratelimit-reset': '3601' })).toMatchObject({ class: 'quota', askedMs: 3_601_000 });
    expect(limited({})).toMatchObject({ class: 'rate-limited', askedMs: 0 });
  });

  it('names the bucket of the receiver when a chat has too many messages', () => {
    const refused = classifyFeishu(answered(400, { code: 230020, msg: 'x' }), planned(), wallMs);
    expect(refused).toMatchObject({ class: 'rate-limited', limitKey: 'feishu|*|-|receiver|oc_1' });
    expect(limited({}).limitKey).toBeUndefined();
  });

  it('waits for the month that begins in China when the monthly quota is used up', () => {
    const quota = code(99991403, 429);
    expect(wallMs + quota.askedMs).toBe(Date.UTC(2026, 0, 31, 16));
    expect(wallMs + code(11247, 400).askedMs).toBe(Date.UTC(2026, 0, 15, 16));
  });

  it('finds the log id in the headers, else in the error object', () => {
    const body = { code: 1, msg: '', error: { log_id: 'inner' } };
    expect(judge(answered(400, body, { 'x-tt-logid': 'a', 'x-request-id': 'b' })).logId).toBe('a');
    expect(judge(answered(400, body, { 'x-request-id': 'b' })).logId).toBe('b');
    expect(judge(answered(400, body)).logId).toBe('inner');
    expect(judge(answered(400, { code: 1 })).logId).toBeUndefined();
  });

  it('lets nothing that looks like a token into the message', () => {
    const { message } = code(
      99991663,
      400,
      'im',
      'Invalid access token: t-g1044qeGEDXTB6NDJOGV4JQCYDGHRBARFTGT1234, eyJhbGciOiJIUzI1NiJ9.x',
    );
    expect(message).toBe('HTTP 400, code 99991663: Invalid access token: ***, ***');
  });
});
