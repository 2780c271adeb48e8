import { describe, expect, it } from 'vitest';

import { news, read, send } from '../../support/calls.ts';
import { cancel } from '../../support/cancel.ts';
import { collect } from '../../support/collect.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';

const refused = (id: string) => (attempt: { readonly id: string; readonly nth: number }) =>
  attempt.id === id && attempt.nth === 1 ? { status: 503, headers: { 'retry-after': '4' } } : {};

/** One failure opens its breaker, for a minute. */
const sick = { breaker: { consecutiveFailures: 1, coolDownMs: 60_000, maxOpenMs: 60_000, openJitter: 0 } };

describe('a call that nobody wants any more', () => {
  it('S000-19: ends as cancelled while it waits for its retry, with no request after it, and its lane goes on', () => {
    const bench = new PipelineBench();
    bench.upstream().script = refused('r');
    const { house } = bench.start();
    bench.call({ ...read('r'), context: { order: 7 } }, 'k');
    bench.call(read('next'), 'k');
    bench.run(1_000);
    expect(bench.results).toEqual([]);
    cancel(bench, house, 'r');
    bench.run(100);
    expect(bench.results.map(({ id, status }) => [id, status])).toEqual([
      ['r', 'cancelled'],
      ['next', 'ok'],
    ]);
    expect(bench.results[0]).toMatchObject({ source: 'default', context: { order: 7 }, attempts: [{ status: 503 }] });
    bench.run(60_000);
    expect(bench.upstream().attempts.map(({ id }) => id)).toEqual(['r', 'next']);
    expect(house.lanes.stats()).toMatchObject({ queued: 0, inTurn: 0 });
    expect(house.partitions.stats()[Symbol.iterator]().next().value).toMatchObject({ watermark: 2 });
  });

  it('ends within 100 ms wherever it waits: behind others of its key, for quota, for a slot, for its breaker', () => {
    const bench = new PipelineBench({
      upstreams: { feishu: { limits: [{ limit: 1, windowMs: 60_000 }] }, news: { concurrency: 1 }, stock: sick },
    });
    bench.upstream('news').script = () => ({ afterMs: 9_000 });
    bench.upstream('stock').script = () => ({ status: 503 });
    const { house } = bench.start();
    bench.call(read('first'), 'k');
    bench.call(read('quota'), 'k');
    bench.call(read('behind'), 'k');
    bench.call(news('busy'));
    for (let n = 0; n < 20; n++) bench.call(news(`slot-${n}`));
    bench.call(news('opens', { upstream: 'stock', retry: false }));
    bench.run(1_000);
    bench.call(news('breaker', { upstream: 'stock' }));
    bench.run(100);
    const breakers = house.destinations.get('stock')?.breakers?.entries() ?? [];
    expect([...breakers].map(([, breaker]) => breaker.snapshot(bench.time.now()).state)).toEqual(['open']);
    const wanted = bench.results.length;
    for (const id of ['behind', 'slot-19', 'quota', 'breaker']) cancel(bench, house, id);
    bench.run(100);
    expect(bench.results.slice(wanted).map(({ id, status }) => [id, status])).toEqual([
      ['behind', 'cancelled'],
      ['slot-19', 'cancelled'],
      ['quota', 'cancelled'],
      ['breaker', 'cancelled'],
    ]);
    bench.run(300_000);
    expect(bench.results).toHaveLength(25);
    expect(bench.upstream().attempts).toHaveLength(1);
    expect(bench.upstream('stock').attempts.map(({ id }) => id)).toEqual(['opens']);
  });

  it('counts no more among those of its tenant that are here, also where it was cancelled before it had a lane', () => {
    const bench = new PipelineBench({
      upstreams: { news: { concurrency: 1 } },
      house: { laneItems: 8, parkFullLanes: true },
    });
    bench.upstream('news').script = () => ({ afterMs: 500 });
    const { house } = bench.start();
    for (let n = 0; n < 12; n++) bench.call(news(`c-${n}`, { ttlMs: 9_000 }));
    bench.run(100);
    expect([...house.rings.items()].map(({ item }) => item.kind === 'call' && item.id)).toContain('c-11');
    cancel(bench, house, 'c-11');
    bench.run(10_000);

    expect(bench.results.filter(({ status }) => status === 'cancelled').map(({ id }) => id)).toEqual(['c-11']);
    expect(bench.results).toHaveLength(12);
    expect(house.overflow.stats()).toEqual({ here: 0, full: 0, outside: 0 });
  });

  it('ends when it comes back from a delay topic, with no request, and so does one that lined up behind it there', () => {
    const bench = new PipelineBench();
    bench.upstream().script = ({ id, nth }) =>
      id === 'outside' && nth === 1 ? { status: 503, headers: { 'retry-after': '60' } } : {};
    const { house } = bench.start();
    bench.call(read('outside'), 'k');
    bench.run(1_000);
    bench.call(read('behind'), 'k');
    bench.run(1_000);
    expect(bench.store.lag('workers', ['calls'])).toMatchObject([{ lag: 0 }]);
    for (const id of ['behind', 'outside']) cancel(bench, house, id);
    bench.call(read('next'), 'k');
    bench.run(120_000);
    expect(bench.results.map(({ id, status }) => [id, status]).sort()).toEqual([
      ['behind', 'cancelled'],
      ['next', 'ok'],
      ['outside', 'cancelled'],
    ]);
    expect(bench.upstream().attempts.map(({ id }) => id)).toEqual(['outside', 'next']);
    expect(house.lines.keys).toBe(0);
    expect(house.lanes.stats()).toMatchObject({ queued: 0, inTurn: 0 });
  });

  it('ends when it would have to wait again, if it is under way', () => {
    const bench = new PipelineBench();
    bench.upstream().script = ({ id, nth }) => (id === 'r' && nth === 1 ? { status: 503, afterMs: 500 } : {});
    const { house } = bench.start();
    bench.call(read('r'));
    bench.run(100);
    cancel(bench, house, 'r');
    bench.run(1_000);
    expect(bench.results).toMatchObject([{ id: 'r', status: 'cancelled', attempts: [{ status: 503 }] }]);
  });

  it('ends also when it would have to wait so long that it would leave for a delay topic', () => {
    const bench = new PipelineBench();
    bench.upstream().script = () => ({ status: 503, headers: { 'retry-after': '600' }, afterMs: 500 });
    const { house } = bench.start();
    bench.call(read('u'));
    bench.run(200);
    cancel(bench, house, 'u');
    bench.run(1_000);

    expect(bench.results.map(({ id, status }) => [id, status])).toEqual([['u', 'cancelled']]);
    expect(bench.upstream().attempts).toHaveLength(1);
  });

  it('has its answer, if it was sent and answered', () => {
    const bench = new PipelineBench();
    bench.upstream().script = () => ({ afterMs: 500 });
    const { house } = bench.start();
    bench.call(read('r'));
    bench.run(100);
    cancel(bench, house, 'r');
    bench.run(1_000);
    expect(bench.results).toMatchObject([{ id: 'r', status: 'ok' }]);
  });

  it('is not cancelled when it may have taken effect', () => {
    const bench = new PipelineBench();
    bench.upstream().script = ({ nth }) => (nth === 1 ? { fail: { how: 'reset', sent: true } } : {});
    const { house } = bench.start();
    bench.call(send('s', 'oc_1'));
    bench.run(10);
    cancel(bench, house, 's');
    bench.run(20_000);
    expect(bench.results).toMatchObject([{ id: 's', status: 'ok' }]);
    expect(bench.upstream().attempts).toHaveLength(2);
  });

  it('is never sent when it is read after it was cancelled, and never again under that id', () => {
    const bench = new PipelineBench();
    const { house } = bench.start();
    cancel(bench, house, 'r');
    bench.call(read('r'));
    bench.run(100);
    bench.call(read('r'));
    bench.run(100);
    expect(bench.upstream().attempts).toEqual([]);
    expect(bench.results.map(({ status }) => status)).toEqual(['cancelled', 'duplicate']);
  });

  it('is never sent by a worker that was told nothing: the store tells it, also after a restart and outside', () => {
    const bench = new PipelineBench();
    bench.upstream().script = ({ nth }) => (nth === 1 ? { status: 503, headers: { 'retry-after': '60' } } : {});
    const worker = bench.start();
    bench.call({ ...read('r'), context: { order: 7 } }, 'k');
    bench.run(1_000);
    expect(bench.upstream().attempts).toHaveLength(1);
    worker.crash();
    expect(collect(bench.store.claims.cancel('r', 86_400_000)).values).toEqual(['kept']);
    bench.start();
    bench.run(120_000);
    expect(bench.upstream().attempts).toHaveLength(1);
    expect(bench.results).toMatchObject([{ id: 'r', status: 'cancelled', context: { order: 7 } }]);
  });

  it('is told of by a record, too, which is no call', () => {
    const bench = new PipelineBench();
    bench.upstream().script = refused('r');
    bench.start();
    bench.call(read('r'), 'k');
    bench.run(1_000);
    bench.raw(null, 'k', [['larkspur-cancel', Buffer.from('r')]]);
    bench.run(100);
    expect(bench.results).toMatchObject([{ id: 'r', status: 'cancelled' }]);
    expect(bench.deadLetters).toEqual([]);
  });
});
