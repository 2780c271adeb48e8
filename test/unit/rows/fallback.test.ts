import { describe, expect, it } from 'vitest';

import { news } from '../../support/calls.ts';
import { outage, platform, top } from '../../support/outage-bench.ts';

describe('the last good answer', () => {
  it('S002-11: stands in at once while the breaker is open, and nothing reaches the upstream', () => {
    const { bench, open, resultOf } = outage();
    open();
    const before = bench.upstream('news').attempts.length;
    bench.call(news('n', top));
    bench.run(0);

    expect(resultOf('n')).toMatchObject({
      status: 'fallback',
      source: 'cache',
      response: { status: 200, body: { headline: 'good' } },
      attempts: [],
      fallback: { because: 'breaker_open' },
    });
    expect(bench.upstream('news').attempts).toHaveLength(before);
  });

  it('S000-50: open answers a call with a fallback within 5 ms, and calls nothing', () => {
    const { bench, open, resultOf } = outage({ ...platform, fallback: { default: { body: 'later' } } });
    open();
    const before = bench.upstream('news').attempts.length;
    for (let i = 0; i < 100; i++) bench.call(news(`n-${i}`));
    bench.run(5);

    const answered = Array.from({ length: 100 }, (_, i) => resultOf(`n-${i}`));
    expect(answered.filter((result) => (result?.timing.totalMs ?? Infinity) <= 5)).toHaveLength(100);
    expect(bench.upstream('news').attempts).toHaveLength(before);
  });

  it('S002-12: stands in when a single call fails and the breaker is closed', () => {
    const { bench, resultOf } = outage();
    bench.call(news('n', top));
    bench.run(10);

    expect(resultOf('n')).toMatchObject({
      source: 'cache',
      attempts: [{ status: 503 }],
      fallback: { because: 'attempts_exhausted' },
    });
  });

  it('S002-13: says where it comes from, how old it is and why', () => {
    const { bench, open, resultOf } = outage();
    open();
    bench.run(41_980);
    bench.call(news('n', top));
    bench.run(0);

    expect(resultOf('n')).toMatchObject({
      source: 'cache',
      fallback: {
        because: 'breaker_open',
        ageMs: 42_000,
        message: expect.stringMatching(/^news is not called/) as string,
      },
    });
  });

  it.each([
    [299_000, 'cache'],
    [301_000, undefined],
  ])('S002-14: %i ms after the last success the source is %s', (afterMs, source) => {
    const { bench, resultOf } = outage();
    bench.upstream('news').script = () => ({ body: { headline: 'newer' } });
    bench.run(100_000);
    bench.call(news('again', top));
    bench.run(10);
    bench.upstream('news').script = () => ({ status: 503 });
    bench.run(afterMs - 10);
    bench.call(news('n', { ...top, retry: false }));
    bench.run(5);

    const body = source === undefined ? undefined : { headline: 'newer' };
    expect([resultOf('n')?.source, resultOf('n')?.response?.body]).toEqual([source, body]);
  });

  it('S002-15: with nothing remembered the record is held, and ends by its deadline', () => {
    const { bench, open, resultOf } = outage();
    open();
    bench.call(news('held', { path: '/other' }));
    bench.call(news('late', { path: '/late', ttlMs: 20_000 }));
    bench.run(30_000);
    expect(resultOf('held')).toBeUndefined();
    expect(bench.deadLetters.map(({ reason, history }) => [history.id, reason])).toEqual([['late', 'deadline_passed']]);

    bench.upstream('news').script = () => ({});
    bench.run(60_000);
    expect(resultOf('held')).toMatchObject({ status: 'ok', source: 'live' });
  });

  it('S002-10: open: no call but its probes, for as long as it lasts', () => {
    const { bench, open } = outage({
      ...platform,
      breaker: { ...(platform.breaker as object), probes: 1, probesToClose: 1 },
    });
    open();
    const before = bench.upstream('news').attempts.length;
    for (let s = 0; s < 290; s++) {
      bench.call(news(`n-${s}`, top));
      bench.run(1_000);
    }

    // One probe a minute.
    expect(bench.upstream('news').attempts.length - before).toBeLessThanOrEqual(5);
    expect(bench.results.filter(({ source }) => source === 'cache')).toHaveLength(290);
  });
});
