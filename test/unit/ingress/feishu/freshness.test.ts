import { describe, expect, it } from 'vitest';

import { isFresh, momentOf } from '../../../../src/ingress/feishu/freshness.ts';

const window = { maxAgeMs: 60_000, clockSkewMs: 5_000 };

describe('momentOf', () => {
  it.each([
    ['1700000001', 1_700_000_001_000],
    ['1700000001234', 1_700_000_001_234],
    ['1700000001234567', 1_700_000_001_234],
    ['2026-10-04 18:23:46.05 +0800 CST m=+3612.1', Date.UTC(2026, 9, 4, 10, 23, 46, 50)],
    ['2026-10-04 18:23:46.123456789 -0330 NST', Date.UTC(2026, 9, 4, 21, 53, 46, 123)],
    ['2026-10-04 18:23:46 +0000 UTC', Date.UTC(2026, 9, 4, 18, 23, 46)],
  ])('reads %s', (text, ms) => {
    expect(momentOf(text)).toBe(ms);
  });

  it.each(['', 'now', '1e9', '-1', '12345678901234567', '2026-13-04 18:23:46 +0800 CST', '2026-10-04'])(
    'finds none in %j',
    (text) => {
      expect(momentOf(text)).toBeUndefined();
    },
  );
});

describe('isFresh', () => {
  it.each([
    [-60_000, true],
    [-61_000, false],
    [5_000, true],
    [6_000, false],
  ])('with a timestamp %i ms from now says %s', (fromNowMs, fresh) => {
    const now = 1_700_000_000_000;

    expect(isFresh(String((now + fromNowMs) / 1_000), now, window)).toBe(fresh);
  });

  it('takes no text that names no moment', () => {
    expect(isFresh('soon', 0, { maxAgeMs: Infinity, clockSkewMs: Infinity })).toBe(false);
  });
});
