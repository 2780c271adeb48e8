import { describe, expect, it } from 'vitest';

import { news, react, read } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';

const hour = 3_600_000;

describe('an outage', () => {
  it('P20: an hour of 503 makes no dead letter and heals by itself, while a 400 ends after one attempt', () => {
    const bench = new PipelineBench();
    bench.upstream('news').script = ({ id, atMs }) => {
      if (id === 'wrong') return { status: 400 };
      return atMs < hour ? { status: 503, afterMs: 20 } : { afterMs: 20 };
    };
    const worker = bench.start();
    for (let i = 0; i < 300; i++) bench.call(news(`n-${i}`), `k-${i % 50}`);
    bench.call(news('wrong'), 'w');
    bench.run(hour);
    expect(bench.deadLetters.map(({ history }) => history.id)).toEqual(['wrong']);
    expect(bench.deadLetters[0]?.attempts).toBe(1);
    expect(bench.results).toEqual([]);
    bench.run(hour);
    expect(bench.results).toHaveLength(300);
    expect(bench.lag).toBe(0);
    expect(worker.error).toBeUndefined();
  });

  it('P26: is probed with few calls, and load returns by a ramp, not as a flood', () => {
    const bench = new PipelineBench();
    bench.upstream('news').script = ({ atMs }) => (atMs < 600_000 ? { status: 503, afterMs: 20 } : { afterMs: 20 });
    bench.start();
    for (let i = 0; i < 2_000; i++) bench.call(news(`n-${i}`));
    bench.run(600_000);
    const during = bench.upstream('news').attempts.length;
    expect(during).toBeLessThan(600);
    bench.run(300_000);
    expect(bench.results).toHaveLength(2_000);
    expect(bench.deadLetters).toEqual([]);
    const after = bench.upstream('news').attempts.slice(during);
    const firstMs = after[0]?.atMs ?? 0;
    expect(after.filter(({ atMs }) => atMs < firstMs + 20).length).toBeLessThanOrEqual(5);
  });

  it('charges a record nothing: after it there are as many attempts left as before', () => {
    const bench = new PipelineBench({ upstreams: { news: { retry: { maxAttempts: 6 } } } });
    bench.upstream('news').script = ({ atMs }) => ({ status: atMs < hour ? 503 : 200 });
    bench.start();
    for (let i = 0; i < 40; i++) bench.call(news(`n-${i}`));
    bench.run(2 * hour);
    expect(bench.results).toHaveLength(40);
  });

  it('leaves other upstreams alone', () => {
    const bench = new PipelineBench({ upstreams: { news: { concurrency: 4 }, stock: {} } });
    bench.upstream('news').script = () => ({ hang: true });
    bench.start();
    for (let i = 0; i < 200; i++) bench.call(news(`n-${i}`));
    for (let i = 0; i < 200; i++) bench.call(news(`s-${i}`, { upstream: 'stock' }));
    bench.run(100);
    expect(bench.results.filter(({ upstream }) => upstream === 'stock')).toHaveLength(200);
  });
});

describe('a fallback', () => {
  it('S000-62: breaker check, call, retry on error, fallback after the last; open: fallback at once', () => {
    const bench = new PipelineBench({
      upstreams: {
        news: { fallback: { default: { body: { items: [] } }, afterAttempts: 2 }, breaker: { consecutiveFailures: 4 } },
      },
    });
    bench.upstream('news').script = () => ({ status: 503 });
    const { house } = bench.start();
    bench.call(news('first'), 'a');
    bench.run(10_000);
    expect(bench.upstream('news').of('first')).toHaveLength(3);
    expect(bench.results[0]).toMatchObject({ id: 'first', status: 'fallback', source: 'default' });
    expect(bench.results[0]?.attempts).toHaveLength(3);
    bench.call(news('second'), 'b');
    bench.run(10);
    expect(house.destinations.get('news')?.breakers?.get('news.internal/news').snapshot(10_010).state).toBe('open');
    bench.call(news('third'), 'c');
    bench.run(10);
    expect(bench.upstream('news').of('third')).toEqual([]);
    expect(bench.results.find(({ id }) => id === 'third')).toMatchObject({
      status: 'fallback',
      source: 'default',
      attempts: [],
      response: { status: 200, body: { items: [] } },
    });
  });

  it('is the last good answer of the same question where answers are remembered', () => {
    const bench = new PipelineBench({ upstreams: { news: { fallback: { cacheTtlMs: 300_000, afterAttempts: 0 } } } });
    bench.upstream('news').script = ({ atMs }) => (atMs === 0 ? { body: { headline: 'good' } } : { status: 503 });
    bench.start();
    bench.call({ ...news('one'), path: '/top' });
    bench.run(1_000);
    bench.call({ ...news('two'), path: '/top' });
    bench.call({ ...news('three'), path: '/other' });
    bench.run(1_000);
    expect(bench.results).toMatchObject([
      { id: 'one', status: 'ok' },
      { id: 'two', status: 'fallback', source: 'cache', response: { body: { headline: 'good' } } },
    ]);
    bench.run(300_000);
    bench.call({ ...news('four'), path: '/top', retry: false });
    bench.run(60_000);
    expect(bench.deadLetters).toMatchObject([{ reason: 'attempts_exhausted' }]);
  });

  it('does not stand in for a wrong call', () => {
    const bench = new PipelineBench({ upstreams: { news: { fallback: { default: { body: 1 } } } } });
    bench.upstream('news').script = () => ({ status: 404 });
    bench.start();
    bench.call(news('n'));
    bench.run(1_000);
    expect(bench.deadLetters).toMatchObject([{ reason: 'permanent' }]);
  });
});

describe('the brake', () => {
  it('P11: when everything is answered 403 for a minute nothing is lost and few records end', () => {
    const bench = new PipelineBench();
    bench.upstream().script = ({ atMs }) => (atMs < 60_000 ? { status: 403, body: {} } : {});
    bench.start();
    for (let i = 0; i < 1_000; i++) bench.call(react(`r-${i}`), `k-${i}`);
    bench.run(60_000);
    expect(bench.deadLetters.length).toBeLessThanOrEqual(110);
    bench.run(600_000);
    expect(bench.results.length + bench.deadLetters.length).toBe(1_000);
    expect(bench.deadLetters.length).toBeLessThanOrEqual(110);
    expect(bench.lag).toBe(0);
  });

  it('holds back a flood of refused tokens too', () => {
    const bench = new PipelineBench();
    bench.tokens.instead = { kind: 'refused', message: 'the app is stopped' };
    bench.start();
    for (let i = 0; i < 500; i++) bench.call(read(`r-${i}`), `k-${i}`);
    bench.run(30_000);
    expect(bench.deadLetters.length).toBeLessThanOrEqual(80);
    bench.tokens.instead = undefined;
    bench.run(60_000);
    expect(bench.results.length + bench.deadLetters.length).toBe(500);
  });

  it('lets wrong calls among good ones go at once', () => {
    const bench = new PipelineBench();
    bench.upstream('news').script = ({ id }) => (id.endsWith('7') ? { status: 404 } : {});
    bench.start();
    for (let i = 0; i < 400; i++) bench.call(news(`n-${i}`));
    bench.run(1_000);
    expect(bench.deadLetters).toHaveLength(40);
  });
});
