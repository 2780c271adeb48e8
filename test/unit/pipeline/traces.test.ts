import { describe, expect, it } from 'vitest';

import { headerText } from '../../../src/model/record.ts';
import { readTraceparent } from '../../../src/model/trace-context.ts';
import { news, send } from '../../support/calls.ts';
import { RememberingTracer } from '../../support/remembering-tracer.ts';
import { callerSpan, callersParent, callerTrace, traced, traceparent, tree } from '../../support/traced-bench.ts';

describe('the trace of a call', () => {
  it('begins where its sender’s ends: the record, its waits, each attempt, the result', () => {
    const { bench, tracer } = traced();
    bench.upstream().script = ({ nth }) => ({ afterMs: 20, ...(nth === 1 ? { status: 503 } : {}) });
    bench.start();
    bench.call(send('m-1'), 'k', [traceparent(), ['tracestate', Buffer.from('a=1')]]);
    bench.run(5_000);
    const api = 'POST /open-apis/im/v1/messages';
    expect(tree(tracer.spans, callerSpan)).toEqual([['process calls', [api, 'wait retry', api, 'send results']]]);
    expect(new Set(tracer.spans.map(({ context }) => context.traceId))).toEqual(new Set([callerTrace]));
    const [first, second] = tracer.of(api);
    expect(first).toMatchObject({
      kind: 'client',
      error: 'server_error',
      attributes: {
        'http.request.method': 'POST',
        'url.template': '/open-apis/im/v1/messages',
        'http.response.status_code': 503,
        'error.type': 'server_error',
        'larkspur.class': 'retryable',
      },
    });
    expect(second).toMatchObject({
      error: undefined,
      attributes: { 'http.request.resend_count': 1, 'larkspur.code': 0 },
    });
    expect(first!.endMs - first!.startMs).toBeCloseTo(20, 3);
    expect(tracer.of('process calls')).toMatchObject([
      {
        kind: 'consumer',
        error: undefined,
        attributes: {
          'messaging.system': 'larkspur',
          'messaging.operation.type': 'process',
          'messaging.destination.name': 'calls',
          'messaging.destination.partition.id': '0',
          'messaging.kafka.offset': 0,
          'messaging.consumer.group.name': 'workers',
          'messaging.message.id': 'm-1',
          'larkspur.attempts': 2,
          'larkspur.outcome': 'ok',
        },
      },
    ]);
  });

  it('goes out with each attempt under that attempt’s span, and comes back on the result', () => {
    const { bench, tracer } = traced();
    bench.upstream().script = ({ nth }) => (nth === 1 ? { status: 503 } : {});
    bench.start();
    bench.call(send('m-1'), 'k', [traceparent(), ['tracestate', Buffer.from('a=1')]]);
    bench.run(5_000);
    const spans = tracer.of('POST /open-apis/im/v1/messages').map(({ context }) => context);
    expect(bench.upstream().attempts.map(({ headers }) => readTraceparent(headers['traceparent']))).toEqual(spans);
    expect(bench.upstream().attempts.map(({ headers }) => headers['tracestate'])).toEqual(['a=1', 'a=1']);
    const [result] = bench.records('results');
    const back = readTraceparent(headerText(result!.headers, 'traceparent'));
    expect(back).toEqual(tracer.of('send results')[0]?.context);
    expect(headerText(result!.headers, 'tracestate')).toBe('a=1');
    expect(result!.headers.filter(([name]) => name === 'traceparent')).toHaveLength(1);
  });

  it('is not kept when its sender does not keep it: no span, and headers as they came', () => {
    const { bench, tracer } = traced();
    bench.start();
    const text = callersParent.replace(/01$/, '00');
    bench.call(send('m-1'), 'k', [traceparent(text)]);
    bench.run(1_000);
    expect(tracer.spans).toEqual([]);
    expect(bench.upstream().attempts[0]?.headers['traceparent']).toBe(text);
    expect(headerText(bench.records('results')[0]!.headers, 'traceparent')).toBe(text);
  });

  it('begins with the record where nobody sent one, for the configured share of them', () => {
    const { bench, tracer } = traced(new RememberingTracer(0.2));
    bench.start();
    for (let n = 0; n < 500; n++) bench.call(news(`n-${n}`), `k-${n}`);
    bench.run(60_000);
    const roots = tracer.of('process calls');
    expect(bench.results).toHaveLength(500);
    expect(roots.length).toBeGreaterThan(60);
    expect(roots.length).toBeLessThan(140);
    expect(roots.every(({ parentId }) => parentId === undefined)).toBe(true);
    expect(new Set(roots.map(({ context }) => context.traceId)).size).toBe(roots.length);
  });

  it('is told to no upstream from which it is withheld, whoever began it', () => {
    const { bench, tracer } = traced(new RememberingTracer(1, ['news']));
    bench.start();
    bench.call(news('n-1'), 'k', [traceparent(), ['tracestate', Buffer.from('a=1')]]);
    bench.call(send('m-1'), 'k2', [traceparent()]);
    bench.run(1_000);
    const headers = bench.upstream('news').attempts[0]!.headers;
    expect(headers).not.toHaveProperty('traceparent');
    expect(headers).not.toHaveProperty('tracestate');
    expect(bench.upstream().attempts[0]?.headers['traceparent']).toBeDefined();
    expect(tracer.of('GET news')).toHaveLength(1);
  });

  it('tells what a call waited for before it could begin, and that it was only read until then', () => {
    const { bench, tracer } = traced(new RememberingTracer(), {
      upstreams: { news: { limits: [{ limit: 1, windowMs: 1_000 }] } },
    });
    bench.upstream('news').script = () => ({ afterMs: 5 });
    bench.start();
    bench.call(news('n-1'), 'k-1');
    bench.call(news('n-2'), 'k-2');
    bench.run(5_000);
    const [wait] = tracer.of('wait rate-limit');
    expect(wait!.endMs - wait!.startMs).toBeGreaterThan(500);
    expect(tracer.of('process calls')).toHaveLength(2);
  });
});
