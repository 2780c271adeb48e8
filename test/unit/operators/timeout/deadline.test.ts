import { describe, expect, it } from 'vitest';

import { attemptTimeoutMs, deadlineOf, defaultTtlMs } from '../../../../src/operators/index.ts';
import { VirtualTime } from '../../../support/virtual-time.ts';

const time = new VirtualTime();
time.advance(5_000);
const wallMs = time.wall();

describe('deadlineOf', () => {
  it.each([
    ['an epoch time', { deadline: wallMs + 2_000 }, wallMs, 7_000],
    ['an ISO time', { deadline: new Date(wallMs + 2_000).toISOString() }, wallMs, 7_000],
    ['a time that is past', { deadline: wallMs - 2_000 }, wallMs, 3_000],
    ['a life, counted from the record', { ttlMs: 10_000 }, wallMs - 4_000, 11_000],
    ['a life of more than a day', { ttlMs: 7 * 86_400_000 }, wallMs, 5_000 + 7 * 86_400_000],
    ['neither: a day from the record', {}, wallMs - 4_000, 1_000 + defaultTtlMs],
    ['a record without time', { ttlMs: 10_000 }, -1, 15_000],
    ['a record from the future', { ttlMs: 10_000 }, wallMs + 3_600_000, 15_000],
    ['a time that cannot be read', { deadline: 'tomorrow' }, wallMs, 5_000 + defaultTtlMs],
  ])('reads %s', (_, call, recordMs, deadlineMs) => {
    expect(deadlineOf(call, recordMs, time)).toBe(deadlineMs);
  });

  it('takes another ceiling for calls that name nothing', () => {
    expect(deadlineOf({}, wallMs, time, 1_000)).toBe(6_000);
  });
});

describe('attemptTimeoutMs', () => {
  it.each([
    [10_000, Infinity, 10_000],
    [10_000, 2_500, 2_500],
    [10_000, -1, 0],
  ])('with %i ms by policy and %d ms left an attempt may take %i ms', (policyMs, leftMs, ms) => {
    expect(attemptTimeoutMs(policyMs, leftMs)).toBe(ms);
  });
});
