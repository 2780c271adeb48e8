import { describe, expect, it } from 'vitest';

import { deadLetterHeaders, redriven } from '../../../src/model/dead-letter.ts';
import { headerText } from '../../../src/model/record.ts';
import { readTraceparent } from '../../../src/model/trace-context.ts';
import { news, react, read, send } from '../../support/calls.ts';
import { RememberingTracer } from '../../support/remembering-tracer.ts';
import { callerSpan, callersParent, traced, traceparent, tree } from '../../support/traced-bench.ts';

describe('the trace of a call that ended, left or was taken over', () => {
  it('ends with a dead letter that names it; sent again, the call links back to there', () => {
    const { bench, tracer } = traced();
    bench.upstream().script = ({ nth }) => (nth === 1 ? { status: 400, body: { code: 230_002 } } : {});
    bench.start();
    bench.call(send('m-1'), 'k', [traceparent()]);
    bench.run(1_000);
    const [letter] = bench.records('dead-letters');
    // Bytes of the caller: untouched.
    expect(headerText(letter!.headers, 'traceparent')).toBe(callersParent);
    const [sent] = tracer.of('send dead-letters');
    expect(readTraceparent(headerText(letter!.headers, deadLetterHeaders.trace))).toEqual(sent?.context);
    expect(tracer.of('process calls')).toMatchObject([
      { error: 'permanent', attributes: { 'error.type': 'permanent' } },
    ]);

    bench.sink.append(redriven(letter!)).subscribe();
    bench.group.poke();
    bench.run(1_000);
    expect(bench.results).toMatchObject([{ id: 'm-1', status: 'ok' }]);
    const again = tracer.of('process calls')[1];
    expect(again).toMatchObject({ parentId: callerSpan, attributes: { 'larkspur.round': 1 } });
    expect(again?.links).toEqual([sent?.context]);
  });

  it('of a dead letter that nobody sent a trace with is another one than before, and links back all the same', () => {
    const { bench, tracer } = traced();
    bench.upstream().script = ({ nth }) => (nth === 1 ? { status: 400, body: { code: 230_002 } } : {});
    bench.start();
    bench.call(send('m-1'), 'k');
    bench.run(1_000);
    bench.sink.append(redriven(bench.records('dead-letters')[0]!)).subscribe();
    bench.group.poke();
    bench.run(1_000);
    const [first, again] = tracer.of('process calls');
    expect(again?.context.traceId).not.toBe(first?.context.traceId);
    expect(again?.links).toEqual([tracer.of('send dead-letters')[0]?.context]);
  });

  it('goes on out of a delay topic with a link to the visit before, and its wait is one span', () => {
    const { bench, tracer } = traced();
    bench.upstream().script = ({ atMs }) =>
      atMs < 30_000 ? { status: 429, headers: { 'x-ogw-ratelimit-reset': '30' }, body: { code: 99991400 } } : {};
    bench.start();
    bench.call(read('r'));
    bench.run(60_000);
    expect(bench.results).toMatchObject([{ id: 'r', status: 'ok' }]);
    const [first, ...later] = [...tracer.of('process calls'), ...tracer.of('process retry.10s')];
    expect(first).toMatchObject({
      links: [],
      attributes: { 'larkspur.outcome': 'held', 'larkspur.held_for': 'rate-limit' },
    });
    expect(later.length).toBeGreaterThan(0);
    for (const [index, visit] of later.entries()) {
      const before = index === 0 ? first : later[index - 1];
      expect(visit.links).toEqual([before?.context]);
      expect(visit.parentId).toBe(before?.context.spanId);
    }
    expect(new Set(tracer.spans.map(({ context }) => context.traceId)).size).toBe(1);
    const waits = tracer.of('wait rate-limit');
    expect(Math.max(...waits.map(({ startMs, endMs }) => endMs - startMs))).toBeGreaterThan(29_000);
  });

  it('after a crash goes on in the same trace, with a link to the delivery whose process died', () => {
    const { bench, tracer } = traced();
    bench.upstream().script = ({ nth }) => (nth === 1 ? { status: 503 } : { hang: true });
    const dying = bench.start();
    bench.call(read('r'));
    bench.run(3_000);
    const [attempt] = tracer.of('GET /open-apis/im/v1/messages');
    expect(tracer.of('process calls')).toEqual([]);
    dying.crash();
    bench.upstream().script = () => ({});
    bench.start();
    bench.run(60_000);
    const [process] = tracer.of('process calls');
    expect(process?.context.traceId).toBe(attempt?.context.traceId);
    // The span that never came is the parent of what was done before the crash.
    expect(process?.links).toEqual([{ ...attempt?.context, spanId: attempt?.parentId }]);
    expect(process?.context.spanId).not.toBe(attempt?.parentId);
  });

  it('of what was no call ends as its dead letter', () => {
    const { bench, tracer } = traced();
    bench.start();
    bench.raw(Buffer.from('no json'), null, [traceparent()]);
    bench.run(1_000);
    expect(tree(tracer.spans, callerSpan)).toEqual([['process calls', ['send dead-letters']]]);
    expect(tracer.of('process calls')).toMatchObject([{ error: 'undecodable' }]);
  });

  it('has a bounded number of spans, however long it waits, and says how many were left out', () => {
    const { bench, tracer } = traced(new RememberingTracer(), {
      upstreams: {
        news: {
          retry: {
            maxAttempts: 1_000,
            attemptsInARow: 100,
            capMs: 20,
            baseMs: 1,
            budget: { start: 1e6, perSuccess: 0, cap: 1e6 },
          },
          breaker: 'off',
        },
      },
    });
    bench.upstream('news').script = () => ({ status: 503, afterMs: 1 });
    bench.start();
    bench.call(news('n', { ttlMs: 5_000 }), null, [traceparent()]);
    bench.run(10_000);
    const [process, ...more] = tracer.of('process calls');
    expect(more).toEqual([]);
    expect(tracer.spans.length).toBeLessThan(110);
    expect(process?.attributes['larkspur.spans_left_out']).toBeGreaterThan(0);
  });

  it('tells nothing of body, query, path or token', () => {
    const { bench, tracer } = traced();
    bench.start();
    bench.call(react('r'));
    bench.call(send('m', 'oc_secret'));
    bench.run(1_000);
    const text = JSON.stringify(tracer.spans);
    expect(tracer.of('process calls')).toHaveLength(2);
    for (const hidden of ['oc_secret', 'om_1', 'receive_id_type', 'hi', 'Bearer', 'SMILE']) {
      expect(text).not.toContain(hidden);
    }
  });
});
