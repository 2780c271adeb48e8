import { describe, expect, it, vi } from 'vitest';

import { react, send } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';

describe('a call whose owner vanished', () => {
  it('is not made again without a key once its bytes may have left', () => {
    const bench = new PipelineBench();
    bench.upstream().script = () => ({ hang: true, acts: true });
    const dying = bench.start();
    bench.call(react('r'));
    bench.run(1_000);
    dying.crash();
    bench.upstream().script = () => ({});
    bench.start();
    bench.run(60_000);
    expect(bench.upstream().effects).toEqual(['r']);
    expect(bench.deadLetters).toMatchObject([{ reason: 'outcome_unknown' }]);
    expect(bench.lag).toBe(0);
  });

  it('is made when it had not been sent yet', () => {
    const bench = new PipelineBench();
    const { claims } = bench.store;
    claims.claim({ id: 'r', origin: 'x', leaseMs: 5_000, ttlMs: 1e9, sent: false }).subscribe();
    bench.start();
    bench.call(react('r'));
    bench.run(4_000);
    expect(bench.results).toEqual([]);
    bench.run(3_000);
    expect(bench.results).toMatchObject([{ id: 'r', status: 'ok' }]);
  });

  it('S000-36: killed while it waits after a clean refusal, a call without a key is made by the next owner', () => {
    const bench = new PipelineBench();
    bench.upstream().script = ({ nth }) => (nth === 1 ? { status: 429 } : {});
    const dying = bench.start();
    bench.call(react('r'));
    bench.run(100);
    expect(bench.upstream().attempts).toHaveLength(1);
    dying.crash();
    bench.start();
    bench.run(5_000);
    expect(bench.results).toMatchObject([{ id: 'r', status: 'ok' }]);
    expect(bench.upstream().effects).toEqual(['r']);
  });

  it('S000-36: killed while it waits for a token, a call without a key is made by the next owner', () => {
    const bench = new PipelineBench();
    bench.tokens.instead = { kind: 'unavailable', waitMs: 60_000, message: 'the platform is away' };
    const dying = bench.start();
    bench.call(react('r'));
    bench.run(100);
    dying.crash();
    bench.tokens.instead = undefined;
    bench.start();
    bench.run(5_000);
    expect(bench.results).toMatchObject([{ id: 'r', status: 'ok' }]);
  });

  it('S000-36: killed between the answer and the claim, a keyed call has one effect', () => {
    const bench = new PipelineBench();
    bench.upstream().script = () => ({ afterMs: 10 });
    const dying = bench.start();
    bench.call(send('s'));
    bench.run(9);
    dying.crash();
    bench.start();
    bench.run(60_000);
    expect(bench.upstream().attempts).toHaveLength(2);
    expect(bench.upstream().effects).toEqual(['s']);
    expect(bench.results).toHaveLength(1);
  });
});

describe('what the promise costs', () => {
  it('a call that must not be repeated asks the store twice, like any other: to begin and to end', () => {
    for (const call of [react('c'), send('c')]) {
      const bench = new PipelineBench();
      const { claims } = bench.store;
      const steps = [vi.spyOn(claims, 'claim'), vi.spyOn(claims, 'extend'), vi.spyOn(claims, 'finish')];
      bench.start();
      bench.call(call);
      bench.run(1_000);
      expect(bench.results).toHaveLength(1);
      expect(steps.map(({ mock }) => mock.calls.length)).toEqual([1, 0, 1]);
    }
  });
});
