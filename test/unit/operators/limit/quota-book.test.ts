import { describe, expect, it } from 'vitest';

import { QuotaBook } from '../../../../src/operators/index.ts';
import { bucket } from '../../../support/quota/quota-bench.ts';

// What every quota log promises, this one among them, stands in test/contract/quota-log.suite.ts.
describe('QuotaBook', () => {
  it('stretches every window by the spread of the path, a long one more', () => {
    const book = new QuotaBook();
    const [second, minute] = [bucket('second', [1, 1_000]), bucket('minute', [1, 60_000])];
    book.take([second], 1, 0);
    book.take([minute], 1, 0);
    expect(book.take([second], 1, 0).waitMs).toBe(1_040);
    expect(book.take([minute], 1, 0).waitMs).toBe(60_100);
  });

  it('forgets buckets that no longer matter, and none that does', () => {
    const book = new QuotaBook({ stretchMs: 0, maxBuckets: 100 });
    const busy = bucket('busy', [1, 1e9]);
    const used = bucket('learned', [5, 1_000]);
    book.take([busy], 1, 0);
    book.take([used], 5, 0);
    for (let n = 0; n < 4; n++) book.refused({ limit: used, coolMs: 100, agoMs: 0 }, 10);
    for (let i = 0; i < 50_000; i++) book.take([bucket(`chat/${i}`, [1, 1_000])], 1, i * 20);
    expect(book.size).toBeLessThanOrEqual(100);
    expect(book.take([busy], 1, 1e6)).toMatchObject({ granted: 0 });
    expect(book.take([used], 1, 1e6).buckets[0]?.factor).toBeLessThan(1);
  });

  it('S000-22: sends 300 calls through 100 a minute, none of which a server refuses, in little more than two minutes', () => {
    const book = new QuotaBook();
    const contacts = bucket('contacts', [100, 60_000]);
    const starts: number[] = [];
    for (let nowMs = 0; starts.length < 300;) {
      const { granted, waitMs } = book.take([contacts], 300 - starts.length, nowMs, 0);
      for (let n = 0; n < granted; n++) starts.push(nowMs);
      nowMs += waitMs;
    }
    expect(starts.every((atMs, i) => atMs - (starts[i - 100] ?? -Infinity) >= 60_000)).toBe(true);
    expect(starts.at(-1)).toBe(120_200);
  });
});
