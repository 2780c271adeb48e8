import { describe, expect, it } from 'vitest';

import { react, read, send } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';

const reset = { fail: { how: 'reset', sent: true }, acts: true } as const;

describe('an outcome that nobody knows', () => {
  it('F23: a send that was accepted and then reset is repeated with the same uuid, and arrives once', () => {
    const bench = new PipelineBench();
    bench.upstream().script = ({ nth }) => (nth === 1 ? reset : {});
    bench.start();
    bench.call(send('s'));
    bench.run(60_000);
    const keys = bench.upstream().attempts.map(({ key }) => key);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
    expect(bench.upstream().effects).toEqual(['s']);
    expect(bench.results).toMatchObject([{ status: 'ok' }]);
  });

  it('F24: the next owner of a send of unknown outcome uses the same uuid', () => {
    const bench = new PipelineBench();
    bench.upstream().script = ({ nth }) => (nth === 1 ? { hang: true, acts: true } : {});
    const dying = bench.start();
    bench.call(send('s'));
    bench.run(1_000);
    dying.crash();
    bench.start();
    bench.run(60_000);
    const keys = bench.upstream().attempts.map(({ key }) => key);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
    expect(bench.upstream().effects).toEqual(['s']);
    expect(bench.results).toMatchObject([{ id: 's', status: 'ok' }]);
  });

  it.each([
    ['a reset', { fail: { how: 'reset', sent: true } } as const],
    ['a time-out', { hang: true } as const],
    ['a 504', { status: 504 } as const],
    ['a 500', { status: 500 } as const],
  ])('after %s a call without a key ends as outcome_unknown and is never made again', (_what, reply) => {
    const bench = new PipelineBench();
    bench.upstream().script = () => ({ ...reply, acts: true });
    bench.start();
    bench.call(react('r'));
    bench.run(3_600_000);
    expect(bench.deadLetters).toMatchObject([{ reason: 'outcome_unknown', class: 'ambiguous', attempts: 1 }]);
    expect(bench.upstream().attempts).toHaveLength(1);
  });

  it('a GET is simply made again', () => {
    const bench = new PipelineBench();
    bench.upstream().script = ({ nth }) => (nth === 1 ? { fail: { how: 'reset', sent: true } } : {});
    bench.start();
    bench.call(read('r'));
    bench.run(60_000);
    expect(bench.results).toMatchObject([{ status: 'ok' }]);
  });

  it('stays unknown when later attempts are refused, however the retries end', () => {
    const bench = new PipelineBench({ upstreams: { feishu: { breaker: 'off', retry: { maxAttempts: 3 } } } });
    bench.upstream().script = ({ nth }) => (nth === 1 ? reset : { fail: { how: 'refused', sent: false } });
    bench.start();
    bench.call(send('s'));
    bench.run(600_000);
    expect(bench.deadLetters).toMatchObject([{ reason: 'outcome_unknown', attempts: 3 }]);
  });

  it('F26: is not repeated once the window of its key is over', () => {
    const bench = new PipelineBench({ upstreams: { feishu: { breaker: 'off' } } });
    bench.upstream().script = () => ({ fail: { how: 'reset', sent: true } });
    bench.start();
    bench.call(send('s'));
    bench.run(3 * 3_600_000);
    const windowMs = 0.8 * 3_600_000;
    expect(bench.upstream().attempts.length).toBeGreaterThan(4);
    expect(Math.max(...bench.upstream().attempts.map(({ atMs }) => atMs))).toBeLessThan(windowMs);
    expect(bench.deadLetters).toMatchObject([{ reason: 'outcome_unknown' }]);
  });

  it('no static answer is painted over it', () => {
    const bench = new PipelineBench();
    bench.upstream().script = () => reset;
    bench.start();
    bench.call(react('r', { fallback: { default: { fine: true } } }));
    bench.run(1_000);
    expect(bench.results).toEqual([]);
    expect(bench.deadLetters).toMatchObject([{ reason: 'outcome_unknown' }]);
  });
});

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
