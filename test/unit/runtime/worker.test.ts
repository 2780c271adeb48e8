import { describe, expect, it, vi } from 'vitest';

import { Worker } from '../../../src/runtime/worker.ts';
import { news, react, send } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';

function started(bench: PipelineBench, source = bench.group.member()) {
  const failures: unknown[] = [];
  const house = bench.createHouse(source);
  const worker = new Worker(house, { drainMs: 20_000, onFailure: (error) => failures.push(error) });
  worker.start();
  return { house, worker, failures, source };
}

describe('a worker that is stopped', () => {
  it('begins nothing new, lets what is under way end, commits it and says drained', async () => {
    const bench = new PipelineBench();
    bench.upstream().script = () => ({ afterMs: 3_000 });
    const { worker, source, house } = started(bench);
    bench.group.give(0, source);
    bench.call(react('a'), 'k');
    bench.call(react('b'), 'k');
    bench.run(1_000);
    const stopping = worker.stop();
    expect(worker.phase).toBe('draining');
    bench.call(react('c'), 'other');
    await bench.time.advanceAsync(3_000);
    expect(await stopping).toBe('drained');
    expect(worker.phase).toBe('stopped');
    expect(bench.results.map(({ id }) => id)).toEqual(['a']);
    expect(bench.upstream().attempts).toHaveLength(1);
    expect(bench.group.committed.get(0)?.offset).toBe(1);
    expect([house.keeper.size, house.lanes.inTurn, worker.settled]).toEqual([0, 0, 1]);
  });

  it('aborts after its time what does not end, and says so', async () => {
    const bench = new PipelineBench({ upstreams: { feishu: { attemptMs: 60_000 } } });
    bench.upstream().script = () => ({ hang: true });
    const { worker, source, house } = started(bench);
    bench.group.give(0, source);
    bench.call(react('a'));
    bench.run(1_000);
    const stopping = worker.stop();
    await bench.time.advanceAsync(19_999);
    expect(bench.upstream().inFlight).toBe(1);
    await bench.time.advanceAsync(1);
    expect(await stopping).toBe('aborted');
    expect([bench.upstream().inFlight, bench.upstream().aborted]).toEqual([0, 1]);
    expect(house.destinations.get('feishu')?.slots.inUse).toBe(0);
    await bench.time.advanceAsync(600_000);
    expect(bench.upstream().attempts).toHaveLength(1);
  });

  it('says of what it cuts off which calls these are, and what each was at', async () => {
    const bench = new PipelineBench({ upstreams: { feishu: { attemptMs: 60_000 } } });
    bench.upstream().script = () => ({ hang: true });
    const { worker, source } = started(bench);
    bench.group.give(0, source);
    bench.call(react('a'), 'k');
    bench.call(react('behind a'), 'k');
    bench.run(1_000);
    const stopping = worker.stop();
    await bench.time.advanceAsync(20_000);
    await stopping;
    expect(bench.log.lines.filter(({ message }) => message.includes('is cut off'))).toMatchObject([
      { fields: { calls: 1, first: ['a: the request is out and feishu has not answered yet'], drainMs: 20_000 } },
    ]);
  });

  it('gives the claims of waiting calls back, so that the next worker need not wait for the lease', async () => {
    const bench = new PipelineBench();
    bench.upstream().script = ({ nth }) => (nth === 1 ? { fail: { how: 'refused', sent: false } } : {});
    const { worker, source } = started(bench);
    bench.group.give(0, source);
    bench.call(send('a'));
    bench.run(15);
    const stopping = worker.stop();
    await bench.time.advanceAsync(0);
    expect(await stopping).toBe('drained');
    const next = bench.group.member();
    bench.start(next);
    bench.group.give(0, next);
    // Until its retry is due.
    bench.run(1_000);
    expect(bench.results).toMatchObject([{ id: 'a', status: 'ok' }]);
  });

  it('keeps a claim whose outcome is unknown: only the lease tells that nobody acts on it', async () => {
    const bench = new PipelineBench({
      upstreams: { news: { idempotencyKey: { header: 'Idempotency-Key', windowMs: 86_400_000 } } },
    });
    bench.upstream('news').script = ({ nth }) => (nth === 1 ? { fail: { how: 'reset', sent: true } } : {});
    const { worker, source } = started(bench);
    bench.group.give(0, source);
    bench.call(news('a', { method: 'POST', body: {} }));
    bench.run(5);
    const stopping = worker.stop();
    await bench.time.advanceAsync(0);
    await stopping;
    const next = bench.group.member();
    bench.start(next);
    bench.group.give(0, next);
    bench.run(1_000);
    expect(bench.results).toEqual([]);
    bench.run(40_000);
    expect(bench.results).toHaveLength(1);
    expect(new Set(bench.upstream('news').attempts.map(({ key }) => key)).size).toBe(1);
  });

  it('waits for a sink that is slow, not longer than its time', async () => {
    const bench = new PipelineBench();
    const { worker, source } = started(bench);
    bench.group.give(0, source);
    bench.sink.hold();
    bench.call(news('a'));
    bench.run(1_000);
    const stopping = worker.stop();
    await bench.time.advanceAsync(20_000);
    expect(await stopping).toBe('aborted');
    expect(bench.group.committed.get(0)).toBeUndefined();
  });

  it('stopped twice stops once: the second call gets the outcome of the first', async () => {
    const bench = new PipelineBench();
    bench.upstream('news').script = () => ({ afterMs: 1_000 });
    const { worker, source, house } = started(bench);
    bench.group.give(0, source);
    bench.call(news('a'));
    bench.run(10);
    // eslint-disable-next-line rxjs-x/finnish -- a spy
    const drain = vi.spyOn(house, 'drain');
    const both = Promise.all([worker.stop(), worker.stop()]);
    await bench.time.advanceAsync(2_000);
    expect(await both).toEqual(['drained', 'drained']);
    expect(await worker.stop()).toBe('drained');
    expect(drain).toHaveBeenCalledTimes(1);
  });

  it('leaves no timer armed', async () => {
    const bench = new PipelineBench();
    const before = bench.time.pending;
    const { worker } = started(bench);
    const stopping = worker.stop();
    await bench.time.advanceAsync(0);
    await stopping;
    expect(bench.time.pending).toBe(before);
  });
});

describe('a worker whose stream errors', () => {
  it('tells it once and does not wait for work that cannot end any more', async () => {
    const bench = new PipelineBench();
    bench.upstream('news').script = () => ({ hang: true });
    const { worker, source, failures } = started(bench);
    bench.group.give(0, source);
    bench.call(news('a'));
    bench.run(10);
    source.fail(new Error('broken for good'));
    expect(failures).toMatchObject([{ code: 'internal', message: 'broken for good' }]);
    expect(worker.phase).toBe('failed');
    const stopping = worker.stop();
    await bench.time.advanceAsync(0);
    expect(await stopping).toBe('aborted');
    expect(worker.phase).toBe('failed');
  });

  it('starts once', () => {
    const { worker } = started(new PipelineBench());
    expect(() => worker.start()).toThrow(/starts once/);
  });
});

describe('leases', () => {
  it('a call that waits for hours is given back until its time, and nobody else takes it', () => {
    const bench = new PipelineBench();
    bench.upstream().script = ({ atMs }) =>
      atMs < 3_600_000 ? { status: 429, headers: { 'retry-after': '600' } } : {};
    const { source } = started(bench);
    bench.group.give(0, source);
    bench.call(send('a'));
    bench.run(3_000_000);
    const replies: unknown[] = [];
    bench.store.claims
      .claim({ id: 'a', origin: 'thief', leaseMs: 1_000, ttlMs: 1e6, sent: false })
      .subscribe({ next: (reply) => replies.push(reply), error: (error: unknown) => replies.push(error) });
    expect(replies).toMatchObject([{ kind: 'not-due' }]);
    bench.run(3_000_000);
    expect(bench.results).toHaveLength(1);
  });
});
