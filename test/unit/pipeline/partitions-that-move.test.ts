import { describe, expect, it } from 'vitest';

import { leaseDefaults } from '../../../src/pipeline/claim-keeper.ts';
import { news, react, send } from '../../support/calls.ts';
import { collect } from '../../support/collect.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';

function twoWorkers() {
  const bench = new PipelineBench();
  const [one, two] = [bench.group.member(), bench.group.member()];
  return { bench, one, two, first: bench.start(one), second: bench.start(two) };
}

describe('a partition that is lost with work in flight', () => {
  it('P2: the old answer writes no second terminal record and commits nothing', () => {
    const { bench, one, two, first } = twoWorkers();
    bench.upstream().script = () => ({ afterMs: 5_000 });
    bench.group.give(0, one);
    bench.call(react('r'));
    bench.run(1_000);
    bench.group.give(0, two);
    bench.run(10_000);
    expect(bench.upstream().effects).toEqual(['r']);
    expect(bench.results.map(({ id, status }) => [id, status])).toEqual([['r', 'ok']]);
    expect(bench.group.committed.get(0)?.offset).toBe(1);
    expect([one.staleCommits, two.staleCommits]).toEqual([[], []]);
    expect(first.house.keeper.size).toBe(0);
  });

  it('P3: back at the same worker only completions of the new assignment count', () => {
    const { bench, one } = twoWorkers();
    bench.upstream('news').script = ({ id }) => ({ afterMs: id === 'slow' ? 5_000 : 8_000 });
    bench.group.give(0, one);
    bench.call(news('slow'), 'a');
    bench.run(1_000);
    bench.group.give(0, undefined);
    bench.group.give(0, one);
    bench.run(3_900);
    expect(bench.group.committed.get(0)).toBeUndefined();
    bench.run(10_000);
    expect(bench.results).toHaveLength(1);
    expect(bench.upstream('news').of('slow')).toHaveLength(1);
    expect(bench.group.committed.get(0)?.offset).toBe(1);
    expect(one.staleCommits).toEqual([]);
  });

  it('what waited there is taken up by the next owner at once, not after the lease', () => {
    const { bench, one, two, first } = twoWorkers();
    bench.upstream().script = ({ nth }) => (nth === 1 ? { fail: { how: 'refused', sent: false } } : {});
    for (let i = 0; i < 4; i++) bench.call(send(`s-${i}`, `oc_${i}`), `k-${i}`);
    bench.group.give(0, one);
    bench.run(15);
    expect(first.house.keeper.size).toBe(4);
    bench.group.give(0, two);
    bench.run(1_500);
    expect(first.house.keeper.size).toBe(0);
    expect(bench.results).toHaveLength(4);
  });

  it.each([
    ['is given back', 'of an API that knows keys', send('r')],
    ['is given back', 'of an API without keys', react('r')],
    ['is lost by a crash', 'of an API that knows keys', send('r')],
    ['is lost by a crash', 'of an API without keys', react('r')],
  ])('P10: where its partition %s, a call %s is not tried again before its time', (how, _, call) => {
    const startsOf = (moves: boolean): number[] => {
      const { bench, one, two, first } = twoWorkers();
      bench.upstream().script = ({ nth }) => (nth < 4 ? { fail: { how: 'refused', sent: false } } : {});
      bench.group.give(0, one);
      bench.call(call);
      while (bench.upstream().of('r').length < 3) bench.run(10);
      if (moves) {
        if (how === 'is lost by a crash') first.crash();
        bench.group.give(0, two);
      }
      bench.run(90_000);
      expect(bench.results.map(({ status }) => status)).toEqual(['ok']);
      return bench
        .upstream()
        .of('r')
        .map(({ atMs }) => atMs);
    };
    const [stayed, moved] = [startsOf(false), startsOf(true)];
    expect(moved).toHaveLength(4);
    expect(moved[3]).toBeGreaterThanOrEqual(stayed[3] ?? Infinity);
    // What was given back is due then; of what was lost the lease may have to end.
    const lateMs = how === 'is given back' ? 100 : leaseDefaults.leaseMs;
    expect(moved[3]).toBeLessThan((stayed[3] ?? 0) + lateMs);
  });

  it("a zombie's answer changes nothing once its claim was taken over", () => {
    const { bench, one, two, first } = twoWorkers();
    bench.upstream('news').script = ({ nth }) => ({ afterMs: nth === 1 ? 9_000 : 100, body: { nth } });
    bench.group.give(0, one);
    bench.call(news('n'));
    bench.run(1_000);
    const claim = { id: 'n', fence: 1 };
    bench.store.claims.finish({ claim, state: 'FAILED', result: '', delayMs: 0, ttlMs: 1e9 }).subscribe();
    bench.group.give(0, two);
    bench.run(60_000);
    expect(bench.upstream('news').of('n')).toHaveLength(2);
    expect(bench.results.map(({ response }) => response?.body)).toEqual([{ nth: 2 }]);
    expect(first.error).toBeUndefined();
  });

  it("a zombie that keeps its partition answers with its successor's result", () => {
    const bench = new PipelineBench();
    bench.upstream('news').script = ({ nth }) => ({ afterMs: 3_000, body: { nth } });
    bench.start();
    bench.call(news('n'));
    bench.run(1_000);
    const { claims } = bench.store;
    claims.finish({ claim: { id: 'n', fence: 1 }, state: 'FAILED', result: '', delayMs: 0, ttlMs: 1e9 }).subscribe();
    claims.claim({ id: 'n', origin: 'other', leaseMs: 30_000, ttlMs: 1e9, sent: true }).subscribe();
    const result = JSON.stringify({
      id: 'n',
      origin: 'other',
      status: 'ok',
      source: 'live',
      response: { status: 201 },
    });
    claims.finish({ claim: { id: 'n', fence: 2 }, state: 'PROCESSED', result, delayMs: 0, ttlMs: 1e9 }).subscribe();
    bench.run(10_000);
    expect(bench.results).toMatchObject([{ id: 'n', status: 'duplicate', response: { status: 201 } }]);
    expect(bench.upstream('news').attempts).toHaveLength(1);
  });
});

describe('progress', () => {
  it('is not committed before the terminal record is acknowledged, and only to the first gap', () => {
    const bench = new PipelineBench({ upstreams: { news: { attemptMs: 60_000 } } });
    const one = bench.group.member();
    bench.start(one);
    bench.upstream('news').script = ({ id }) => ({ afterMs: id === 'n-0' ? 20_000 : 0 });
    bench.group.give(0, one);
    for (let i = 0; i < 5; i++) bench.call(news(`n-${i}`));
    bench.sink.hold();
    bench.run(2_000);
    expect(bench.group.committed.get(0)).toBeUndefined();
    bench.sink.release();
    bench.run(2_000);
    const committed = bench.group.committed.get(0);
    expect(committed?.offset).toBe(0);
    expect(committed?.metadata).toMatch(/^d1:0:/);
  });

  it('above the gap is not repeated by the next owner', () => {
    const bench = new PipelineBench({ upstreams: { news: { attemptMs: 60_000 } } });
    const [one, two] = [bench.group.member(), bench.group.member()];
    const dying = bench.start(one);
    bench.upstream('news').script = ({ id, nth }) => ({ afterMs: id === 'n-0' && nth === 1 ? 50_000 : 0 });
    bench.group.give(0, one);
    for (let i = 0; i < 5; i++) bench.call(news(`n-${i}`));
    bench.run(2_000);
    dying.crash();
    const next = bench.start(two);
    bench.group.give(0, two);
    bench.run(100_000);
    expect(next.settled.map(({ received }) => received.record.offset)).toEqual([0]);
    expect(bench.results).toHaveLength(5);
    expect(bench.group.committed.get(0)).toMatchObject({ offset: 5, metadata: '' });
  });

  it('K9, P28: while the results take nothing the worker holds what it has, and goes on when they do', () => {
    const bench = new PipelineBench({ house: { maxInTurn: 16 } });
    bench.sink.hold();
    bench.start();
    for (let i = 0; i < 3_000; i++) bench.call(news(`n-${i}`));
    bench.run(3_600_000);
    expect(bench.sink.waiting).toBe(16);
    expect(bench.upstream('news').attempts).toHaveLength(16);
    expect(bench.lag).toBe(3_000);
    bench.sink.release();
    bench.run(60_000);
    expect(bench.results).toHaveLength(3_000);
    expect(bench.lag).toBe(0);
  });

  it('an answer larger than results takes is written without its body, and the call is not repeated', () => {
    const bench = new PipelineBench({ resultBytes: 2_000 });
    bench.upstream().script = () => ({ body: { code: 0, data: 'x'.repeat(10_000) } });
    bench.start();
    bench.call(react('r'));
    bench.run(60_000);
    expect(bench.results[0]).toMatchObject({ status: 'ok', response: { status: 200, code: 0 } });
    expect(bench.results[0]?.response).not.toHaveProperty('body');
    expect(bench.upstream().attempts).toHaveLength(1);
    expect(bench.lag).toBe(0);
  });

  it('a record whose ending fits its topic in no way does not hold up a worker that stops', () => {
    const bench = new PipelineBench();
    const { house } = bench.start();
    bench.sink.hold();
    bench.raw(Buffer.alloc(1_048_588 - 100, 'x'));
    bench.run(100);
    const drained = collect(house.drain()).values;
    expect(drained).toEqual([]);
    bench.sink.release();
    bench.run(100);

    expect([bench.deadLetters, bench.lag, drained.length]).toEqual([[], 1, 1]);
  });
});
