import { of } from 'rxjs';
import { describe, expect, it } from 'vitest';

import type { AnswerCache, CachedAnswer } from '../../../src/ports/answer-cache.ts';
import type { BenchUpstream } from '../../support/bench-destination.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';

const ask = (id: string, upstream: string, more: object = {}) => ({ id, upstream, path: '/now', ...more });

function started(upstreams: Readonly<Record<string, BenchUpstream>>) {
  const bench = new PipelineBench({ upstreams });
  for (const name of Object.keys(upstreams))
    bench.upstream(name).script = ({ atMs }) => ({ body: { atMs }, afterMs: 40 });
  bench.start();
  const call = (id: string, upstream: string, more?: object): void => {
    bench.call(ask(id, upstream, more));
    bench.run(100);
  };
  const result = (id: string) => bench.results.find((one) => one.id === id);
  return { bench, call, result };
}

describe('the read cache of an upstream', () => {
  it('S002-23: each upstream has its own: weather is asked every 10 min, stock every second, what is between is answered', () => {
    const { bench, call, result } = started({ weather: { cacheMs: 600_000 }, stock: { cacheMs: 1_000 } });
    for (const name of ['weather', 'stock']) {
      call(`${name}-1`, name);
      call(`${name}-2`, name);
    }
    bench.run(2_000);
    for (const name of ['weather', 'stock']) call(`${name}-3`, name);
    bench.run(600_000);
    call('weather-4', 'weather');

    expect(bench.upstream('weather').attempts).toHaveLength(2);
    expect(bench.upstream('stock').attempts).toHaveLength(2);
    expect(result('weather-1')).toMatchObject({ status: 'ok', source: 'live' });
    const first = result('weather-1')?.response?.body;
    expect(result('weather-2')).toMatchObject({
      status: 'ok',
      source: 'cache',
      response: { body: first },
      attempts: [],
    });
    expect(result('weather-2')?.ageMs).toBeGreaterThanOrEqual(50);
    expect(result('weather-3')).toMatchObject({ source: 'cache', response: { body: first } });
    expect(result('weather-4')).toMatchObject({ source: 'live' });
    expect(result('stock-2')).toMatchObject({ source: 'cache' });
    expect(result('stock-3')).toMatchObject({ source: 'live' });
  });

  it('asks once for all that ask the same at the same time', () => {
    const { bench, result } = started({ news: { cacheMs: 60_000 } });
    for (let i = 0; i < 50; i++) bench.call(ask(`n-${i}`, 'news'));
    bench.run(1_000);

    expect(bench.upstream('news').attempts).toHaveLength(1);
    expect(bench.results).toHaveLength(50);
    expect(bench.results.filter(({ source }) => source === 'cache')).toHaveLength(49);
    expect(result('n-0')).toMatchObject({ source: 'live' });
  });

  it('lets those that waited ask themselves where the first one failed', () => {
    const { bench } = started({ news: { cacheMs: 60_000, retry: 'off', breaker: 'off' } });
    const answers = [503, 200];
    bench.upstream('news').script = () => ({ status: answers.shift() ?? 200, afterMs: 40 });
    for (const id of ['a', 'b']) bench.call(ask(id, 'news'));
    bench.run(1_000);

    expect(bench.upstream('news').attempts).toHaveLength(2);
    expect(bench.results).toMatchObject([{ id: 'b', status: 'ok', source: 'live' }]);
    expect(bench.deadLetters).toHaveLength(1);
  });

  it('serves nothing for longer because the clock of the process went back', () => {
    let aheadMs = 0;
    const news = { cacheMs: 10_000, fallback: { cacheTtlMs: 3_600_000 } };
    const bench = new PipelineBench({ upstreams: { news }, aheadMs: () => aheadMs });
    bench.start();
    for (const id of ['before', 'after']) {
      bench.call(ask(id, 'news'));
      bench.run(60_000);
      aheadMs = -3_600_000;
    }

    expect(bench.results.map(({ id, source }) => `${id} ${source}`)).toEqual(['before live', 'after live']);
  });

  it('is for the same question alone, for reads, and not for who insists on a live answer', () => {
    const { bench, call } = started({ news: { cacheMs: 60_000 } });
    call('first', 'news');
    call('other-query', 'news', { query: { page: '2' } });
    call('other-tenant', 'news', { tenant: 't' });
    call('other-header', 'news', { headers: { 'accept-language': 'de' } });
    call('write', 'news', { body: {} });
    call('write-again', 'news', { body: {} });
    call('insists', 'news', { fallback: false });

    expect(bench.results.map(({ source }) => source)).toEqual(Array.from({ length: 7 }, () => 'live'));
  });

  it('needs nothing of an upstream that is full or out', () => {
    const { bench, call, result } = started({
      news: {
        cacheMs: 600_000,
        concurrency: 1,
        breaker: { consecutiveFailures: 1 },
        limits: [{ limit: 2, windowMs: 60_000 }],
      },
    });
    call('first', 'news');
    bench.upstream('news').script = () => ({ hang: true });
    call('hangs', 'news', { path: '/hangs' });
    call('beside', 'news');
    expect(result('beside')).toMatchObject({ source: 'cache' });
    bench.run(30_000);
    call('while-open', 'news');

    expect(result('while-open')).toMatchObject({ status: 'ok', source: 'cache' });
  });

  it('asks nothing where another process has asked', () => {
    let found: CachedAnswer | undefined;
    const answers: AnswerCache = {
      get: () => found,
      mayKnow: () => true,
      lookUp: () => of((found = another())),
      put: () => expect.fail('nothing was asked'),
    };
    const { bench, call, result } = started({ news: { cacheMs: 60_000, answers } });
    const another = (): CachedAnswer => ({
      ...{ status: 200, code: undefined, contentType: 'application/json' },
      ...{ body: Buffer.from('{"from":"another"}'), storedAtMs: bench.time.wall() - 5_000 },
    });
    call('a', 'news');

    expect(bench.upstream('news').attempts).toEqual([]);
    expect(result('a')).toMatchObject({ status: 'ok', source: 'cache', response: { body: { from: 'another' } } });
    expect(result('a')?.ageMs).toBeGreaterThanOrEqual(5_000);
  });

  it('names what nine of ten reads are about', () => {
    const bench = new PipelineBench({ upstreams: { weather: { cacheMs: 600_000 } } });
    const { instruments } = bench.start().house;
    for (let n = 0; n < 400; n++) {
      bench.call({ id: `r-${n}`, upstream: 'weather', path: n % 10 === 0 ? `/city/${n}` : '/now' });
      bench.run(10);
    }
    expect(instruments.hotReads()).toMatchObject([{ where: 'reads weather', key: 'GET /now' }]);
  });
});
