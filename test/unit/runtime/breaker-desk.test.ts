import { describe, expect, it } from 'vitest';

import { openEmbedded } from '../../../src/adapters/embedded/embedded.ts';
import { breakerRoutes } from '../../../src/adapters/http/breaker-routes.ts';
import type { HttpResponse } from '../../../src/model/http.ts';
import { Audit } from '../../../src/runtime/audit.ts';
import { breakerDesk } from '../../../src/runtime/breaker-desk.ts';
import { news } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';

/** A worker with an upstream `news` that is well, and the doors to its breakers. */
function opened() {
  const bench = new PipelineBench({ upstreams: { news: {}, plain: { breaker: 'off' } } });
  const { house } = bench.start();
  const { time, log } = bench;
  const topics = [{ name: 'audit', partitions: 1 }];
  const nextTurn = (task: () => void): void => void time.after(0, task);
  const store = openEmbedded({ data: 'memory', clock: time, timers: time, logger: log, topics, nextTurn });
  const parts = { clock: time, timers: time, log };
  const routes = breakerRoutes(breakerDesk(() => house, new Audit(store.sink, parts), parts));
  const ask = (method: string, upstream = '', body?: unknown): HttpResponse | undefined => {
    let response: HttpResponse | undefined;
    const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body ?? null));
    routes
      .find((route) => route.method === method)
      ?.handle({ params: { upstream }, query: {}, headers: { 'x-request-id': 'r-1' }, body: bytes })
      .subscribe({
        next: (answer) => {
          response = answer;
        },
        error: (error: unknown) => expect.fail(String(error)),
      });
    bench.run(1);
    return response;
  };
  const audits = (): unknown[] => {
    const all: unknown[] = [];
    for (let record = store.read('audit', 0, 0); record !== undefined; record = store.read('audit', 0, all.length)) {
      all.push({ key: String(record.key), ...(JSON.parse(String(record.value)) as object) });
    }
    return all;
  };
  return { bench, ask, audits };
}

describe('the doors to breakers', () => {
  it('isolate an upstream at once: its calls wait, and when it is let go they are made', () => {
    const { bench, ask } = opened();
    expect(ask('PUT', 'news', { state: 'open', by: 'ana' })?.status).toBe(200);
    bench.call(news('n'));
    bench.run(60_000);
    expect(bench.upstream('news').attempts).toEqual([]);

    expect(ask('PUT', 'news', { state: 'auto', by: 'ana' })?.status).toBe(200);
    bench.run(100);
    expect(bench.results).toMatchObject([{ id: 'n', status: 'ok', attempts: [{ waitedFor: 'breaker' }] }]);
  });

  it('hold one closed through an outage', () => {
    const { bench, ask } = opened();
    ask('PUT', 'news', { state: 'closed', by: 'ana' });
    bench.upstream('news').script = () => ({ status: 503 });
    for (let i = 0; i < 60; i++) bench.call(news(`n-${i}`, { retry: false }));
    bench.run(1_000);

    expect(bench.upstream('news').attempts).toHaveLength(60);
  });

  it('leave a record of who, what, from, to and why on the topic audit', () => {
    const { ask, audits } = opened();
    ask('PUT', 'news', { state: 'open', by: 'ana', reason: 'news moves house' });
    ask('PUT', 'news', { state: 'auto', by: 'ben' });
    const one = { key: 'breaker/news', what: 'breaker/news', requestId: 'r-1' };

    expect(audits()).toMatchObject([
      { ...one, by: 'ana', from: 'auto', to: 'open', reason: 'news moves house', at: expect.any(String) as string },
      { ...one, by: 'ben', from: 'open', to: 'auto' },
    ]);
  });

  it('show all breakers with what was imposed', () => {
    const { bench, ask } = opened();
    bench.call(news('n'));
    bench.run(10);
    ask('PUT', 'news', { state: 'metrics-only', by: 'ana', breaker: 'news.internal/news' });

    expect(JSON.parse(ask('GET')?.body ?? '')).toMatchObject({
      upstreams: [
        { upstream: 'news', forced: 'auto', breakers: [{ breaker: 'news.internal/news', forced: 'metrics-only' }] },
        { upstream: 'plain', breakers: [] },
      ],
    });
  });

  it.each([
    ['news', { state: 'broken', by: 'ana' }, 400, '/state must be one of open, closed, metrics-only, auto'],
    ['news', { state: 'open' }, 400, '/by must name who asks, 1 to 100 characters'],
    ['news', { state: 'open', by: 'ana', until: 5 }, 400, '/until is not known'],
    ['news', 'nonsense', 400, 'the body must be a JSON object'],
    ['nobody', { state: 'open', by: 'ana' }, 404, 'there is no upstream nobody in this process'],
    ['plain', { state: 'open', by: 'ana' }, 404, 'plain has no breaker: it is configured off'],
    ['news', { state: 'open', by: 'ana', breaker: 'x' }, 404, 'news has no breaker x'],
  ])('refuse %s %j with %i', (upstream, body, status, detail) => {
    const { ask, audits } = opened();
    const answer = ask('PUT', upstream, body);

    expect([answer?.status, (JSON.parse(answer?.body ?? '{}') as { detail?: string }).detail]).toEqual([
      status,
      detail,
    ]);
    expect(audits()).toEqual([]);
  });
});
