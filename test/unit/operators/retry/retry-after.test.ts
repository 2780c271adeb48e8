import { describe, expect, it } from 'vitest';

import { askedWaitMs, spreadWaitMs, unnamedWaitMs } from '../../../../src/operators/index.ts';

const wallMs = Date.UTC(2026, 0, 1, 12, 0, 0);

describe('askedWaitMs', () => {
  it.each([
    ['nothing', {}, 0],
    ['seconds', { 'retry-after': '7' }, 7_000],
    ['a fraction', { 'retry-after': '0.25' }, 250],
    ['an HTTP date', { 'retry-after': 'Thu, 01 Jan 2026 12:00:30 GMT' }, 30_000],
    ['an RFC 850 date', { 'retry-after': 'Thursday, 01-Jan-26 12:00:30 GMT' }, 30_000],
    ['an asctime date', { 'retry-after': 'Thu Jan  1 12:00:30 2026' }, 30_000],
    ['a date that is past', { 'retry-after': 'Thu, 01 Jan 2026 11:59:00 GMT' }, 0],
    ["the platform's own header", { 'x-ogw-ratelimit-reset': '6' }, 6_000],
    ['both: the longer counts', { 'x-ogw-ratelimit-reset': '6', 'retry-after': '2' }, 6_000],
    ['both: the other longer', { 'x-ogw-ratelimit-reset': '1', 'retry-after': 'Thu, 01 Jan 2026 12:00:09 GMT' }, 9_000],
    ['a negative number', { 'retry-after': '-5', 'x-ogw-ratelimit-reset': '-1' }, 0],
    ['not a number', { 'retry-after': 'NaN', 'x-ogw-ratelimit-reset': 'soon' }, 0],
    ['empty text', { 'retry-after': '', 'x-ogw-ratelimit-reset': ' ' }, 0],
    ['infinity', { 'retry-after': 'Infinity' }, 0],
    ['hexadecimal', { 'retry-after': '0x10' }, 0],
    ['words that a lenient parser takes for a date', { 'retry-after': 'in 7 apples' }, 0],
    ['junk beside a good one', { 'retry-after': '2; please', 'x-ogw-ratelimit-reset': '3' }, 3_000],
  ])('reads %s', (_, headers, ms) => {
    expect(askedWaitMs(headers, wallMs)).toBe(ms);
  });
});

describe('spreadWaitMs', () => {
  it('adds up to half a second and never takes away', () => {
    expect(spreadWaitMs(7_000, { next: () => 0 })).toBe(7_000);
    expect(spreadWaitMs(7_000, { next: () => 0.5 })).toBe(7_250);
    expect(spreadWaitMs(7_000, { next: () => 0.9999 })).toBe(7_499);
  });
});

describe('unnamedWaitMs', () => {
  const half = { next: () => 0.5 };
  it('waits as long as one with a time, where it ends away from a full minute', () => {
    expect(unnamedWaitMs(1_000, wallMs + 30_000, half)).toBe(1_250);
    expect(unnamedWaitMs(1_000, wallMs + 750, half)).toBe(1_250);
    expect(unnamedWaitMs(1_000, wallMs + 58_249, half)).toBe(1_250);
  });

  it('waits on, spread, until the rush of a full minute is over: half a second before it to two after', () => {
    expect(unnamedWaitMs(1_000, wallMs + 749, half)).toBe(1_250 + 1 + 1_250);
    expect(unnamedWaitMs(1_000, wallMs + 58_250, half)).toBe(1_250 + 2_500 + 1_250);
  });
});
