import { of } from 'rxjs';
import { describe, expect, it } from 'vitest';

import { outlookOf } from '../../../src/runtime/outlook.ts';
import { news } from '../../support/calls.ts';
import { outage, platform, top } from '../../support/outage-bench.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';
import { api } from '../ingress/calls-world.ts';

describe('a client that waits for an upstream that is out', () => {
  it('S002-10: is told so at once, when to come again, and that its call is kept', () => {
    const world = api({ view$: () => of({ kind: 'unknown' }), outlook: () => ({ upstream: 'news', forMs: 41_500 }) });
    const { answers } = world.post({ path: '/x', upstream: 'news' }, { wait: '3s' });

    expect(answers).toMatchObject([
      {
        atMs: 0,
        status: 503,
        headers: expect.objectContaining({ 'retry-after': '42' }) as unknown,
        body: expect.objectContaining({
          code: 'upstream_unavailable',
          title: 'Please try again later',
          id: 'made',
          result: '/v1/results/made',
        }) as unknown,
      },
    ]);
    expect(world.records).toHaveLength(1);
  });

  it('is told so as soon as it turns out while it waits', () => {
    let out = false;
    const world = api({ outlook: () => (out ? { upstream: 'news', forMs: 60_000 } : undefined) });
    const { answers } = world.post({ path: '/x' }, { wait: '3s' });
    world.time.advance(1_000);
    expect(answers).toEqual([]);
    out = true;
    world.time.advance(300);

    expect(answers).toMatchObject([{ status: 503 }]);
  });

  it('waits on where the upstream may be back in time', () => {
    const world = api({ outlook: () => ({ upstream: 'news', forMs: 900 }) });
    const { answers } = world.post({ path: '/x' }, { wait: '3s' });
    world.time.advance(2_900);

    expect(answers).toEqual([]);
  });

  it('S002-18: is answered 504 when its wait is over although the upstream hangs, and can have the result later', () => {
    const bench = new PipelineBench();
    const { time, sink, store } = bench;
    bench.upstream('news').script = ({ nth }) => (nth === 1 ? { hang: true } : {});
    bench.start();
    const world = api({ time, sink, claims: store.claims });
    const { answers } = world.post({ path: '/x', method: 'GET', upstream: 'news' }, { wait: '3s' });
    bench.run(3_100);
    expect(answers).toMatchObject([{ atMs: 3_000, status: 504, body: { id: 'made', result: '/v1/results/made' } }]);
    expect(bench.upstream('news').inFlight).toBe(1);
    expect(world.get('made')).toMatchObject([{ status: 202 }]);

    bench.run(57_000);
    expect(world.get('made')).toMatchObject([{ status: 200, body: { status: 'ok', source: 'live' } }]);
    expect(answers).toHaveLength(1);
  });

  it('S002-15: has none to expect with nothing remembered, and one with an answer that stands in', () => {
    const { open, house, bench } = outage();
    open();

    expect(outlookOf(house, news('other', { path: '/other' }), 'i')).toEqual({
      upstream: 'news',
      forMs: 60_000 - (bench.time.now() - 10),
    });
    expect(outlookOf(house, news('known', top), 'i')).toBeUndefined();
    expect(outlookOf(house, news('own', { path: '/other', fallback: { default: 1 } }), 'i')).toBeUndefined();
  });

  it('knows nothing of a breaker that is closed, or of an upstream that is not there', () => {
    const { house } = outage(platform);

    expect(outlookOf(house, news('n'), 'i')).toBeUndefined();
    expect(outlookOf(house, { path: '/x', upstream: 'nobody' }, 'i')).toBeUndefined();
  });
});
