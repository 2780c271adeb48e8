import { describe, expect, it } from 'vitest';

import { news, read, react } from '../../support/calls.ts';
import { outage, platform, top } from '../../support/outage-bench.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';

describe('a fallback keeps to its bounds', () => {
  it('S000-61: an interactive call with a static answer has it before its deadline in an outage', () => {
    const { bench, resultOf } = outage({ ...platform, attemptMs: 10_000, fallback: {} });
    bench.upstream('news').script = () => ({ hang: true });
    bench.call(news('n', { priority: 'interactive', ttlMs: 3_000, fallback: { default: { text: 'later' } } }));
    bench.run(3_000);

    expect(resultOf('n')).toMatchObject({
      status: 'fallback',
      source: 'default',
      response: { body: { text: 'later' } },
    });
    expect(resultOf('n')?.timing.totalMs).toBeLessThanOrEqual(3_000);
  });

  it('S000-30: with afterAttempts 2 the third failure is a fallback; request n says n - 1', () => {
    const { bench, resultOf } = outage({ ...platform, fallback: { default: { body: [] }, afterAttempts: 2 } });
    bench.call(news('n'));
    bench.run(10_000);

    expect(
      bench
        .upstream('news')
        .of('n')
        .map(({ headers }) => headers['x-retry-count']),
    ).toEqual(['0', '1', '2']);
    expect(resultOf('n')).toMatchObject({ source: 'default', attempts: [{}, {}, {}] });
  });

  it('a call may want none: it is made again instead', () => {
    const { bench, resultOf } = outage();
    bench.call(news('n', { ...top, fallback: false }));
    bench.run(2_000);
    expect(resultOf('n')).toBeUndefined();
    bench.upstream('news').script = () => ({});
    bench.run(120_000);

    expect(resultOf('n')).toMatchObject({ status: 'ok' });
  });

  it.each([
    ['a wrong call', { status: 404 }, 'permanent'],
    ['no permission', { status: 403 }, 'permanent'],
  ])('hides no permanent error: %s', (_, reply, reason) => {
    const { bench } = outage();
    bench.upstream('news').script = () => reply;
    bench.call(news('n', top));
    bench.run(10);

    expect(bench.deadLetters.map((letter) => letter.reason)).toEqual([reason]);
  });

  it('hides no credentials that are refused', () => {
    const bench = new PipelineBench({
      upstreams: { feishu: { fallback: { default: { body: {} }, ...platform.fallback } } },
    });
    bench.tokens.instead = { kind: 'refused', message: 'the app is stopped' };
    bench.start();
    bench.call(read('r'));
    bench.run(10);

    expect(bench.deadLetters.map(({ reason }) => reason)).toEqual(['auth_failed']);
  });

  it.each([
    [false, 'outcome_unknown or a dead letter'],
    [true, 'the static answer'],
  ])('stands in for a write only where that is declared: writes %s', (writes) => {
    const fallback = { default: { body: 'done' }, afterAttempts: 0, writes };
    const bench = new PipelineBench({ upstreams: { feishu: { fallback, retry: 'off' } } });
    bench.upstream().script = () => ({ fail: { how: 'refused', sent: false } });
    bench.start();
    bench.call(react('r'));
    bench.run(10);

    expect([bench.results.length, bench.deadLetters.length]).toEqual(writes ? [1, 0] : [0, 1]);
  });

  it('is remembered for each question and each asker', () => {
    const { bench, resultOf } = outage();
    const others = [
      { query: { page: 2 } },
      { headers: { 'accept-language': 'zh' } },
      { tenant: 'other' },
      { app: 'cli_b' },
    ];
    for (const [i, other] of others.entries()) bench.call(news(`n-${i}`, { ...top, retry: false, ...other }));
    bench.run(10);

    expect(others.map((_, i) => resultOf(`n-${i}`))).toEqual(others.map(() => undefined));
  });

  it('is what a call asked to have remembered, where the upstream declares nothing', () => {
    const { bench, resultOf } = outage({});
    bench.upstream('news').script = () => ({ body: 1 });
    bench.call(news('first', { ...top, fallback: 'cached' }));
    bench.run(10);
    bench.upstream('news').script = () => ({ status: 503 });
    bench.call(news('second', { ...top, fallback: 'cached', retry: false }));
    bench.run(10);

    expect(resultOf('second')).toMatchObject({ source: 'cache', response: { body: 1 } });
  });
});
