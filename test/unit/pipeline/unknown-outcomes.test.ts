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

  it.each([
    ['permission', { status: 403, body: { code: 99991672 } }, 'permanent'],
    ['a bad field', { status: 400, body: { code: 230001 } }, 'permanent'],
    ['a wrong secret', { status: 400, body: { code: 10014 } }, 'auth'],
  ] as const)('stays unknown when a later attempt is refused for %s', (_what, refusal, refusedAs) => {
    const bench = new PipelineBench();
    bench.upstream().script = ({ nth }) => (nth === 1 ? reset : refusal);
    bench.start();
    bench.call(send('s'));
    bench.run(60_000);
    const [letter] = bench.deadLetters;
    expect(letter?.history.message).toMatch(/may have taken effect.*ended otherwise later \(HTTP 40[03], code/);
    expect(bench.deadLetters).toMatchObject([
      {
        reason: 'outcome_unknown',
        class: refusedAs,
        attempts: 2,
        history: {
          unknown: { attempts: 1, keyed: true },
        },
      },
    ]);
  });

  it('stays unknown when no token is to be had for a repeat', () => {
    const bench = new PipelineBench();
    bench.upstream().script = () => {
      bench.tokens.instead = { kind: 'refused', message: 'the app was stopped' };
      return reset;
    };
    bench.start();
    bench.call(send('s'));
    bench.run(60_000);
    expect(bench.deadLetters).toMatchObject([{ reason: 'outcome_unknown', class: 'auth', attempts: 1 }]);
  });

  it('tells when the request left, how often, how large it was, and whether a repeat would be recognised', () => {
    const bench = new PipelineBench();
    bench.run(5_000);
    bench.upstream().script = ({ nth }) => (nth === 1 ? { status: 429 } : { hang: true });
    bench.start();
    bench.call(react('r'));
    bench.run(60_000);
    const [letter] = bench.deadLetters;
    expect(letter?.attempts).toBe(2);
    expect(letter?.history.unknown).toEqual({
      since: letter?.history.attempts[1]?.started,
      attempts: 1,
      requestBytes: Buffer.byteLength(JSON.stringify(react('r').body)),
      keyed: false,
    });
  });

  it('a call with a fallback waits for its breaker rather than have an answer painted over it', () => {
    const bench = new PipelineBench({
      upstreams: { feishu: { breaker: { consecutiveFailures: 1, coolDownMs: 5_000 }, attemptMs: 500 } },
    });
    bench.upstream().script = ({ nth }) => (nth === 1 ? reset : {});
    bench.start();
    bench.call(send('s', 'oc_1', { fallback: { default: { fine: true } } }));
    bench.run(60_000);
    expect(bench.results).toMatchObject([{ status: 'ok', source: 'live' }]);
    expect(bench.upstream().effects).toEqual(['s']);
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
