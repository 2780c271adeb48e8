import { afterEach, describe, expect, it } from 'vitest';

import { OtlpTracer } from '../../../../src/adapters/otlp/otlp-tracer.ts';
import { createMetrics } from '../../../../src/adapters/prometheus/metrics.ts';
import { systemTimers } from '../../../../src/adapters/system/clock.ts';
import type { Timers } from '../../../../src/ports/clock.ts';
import type { Span } from '../../../../src/ports/tracer.ts';
import { type OtlpCollector, openCollector } from '../../../support/otlp-collector.ts';
import { RememberingLogger } from '../../../support/remembering-logger.ts';

const context = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7', sampled: true };
const span: Span = {
  name: 'process calls',
  kind: 'consumer',
  context,
  parentId: 'b7ad6b7169203331',
  startMs: 1_764_460_800_000.25,
  endMs: 1_764_460_800_012.5,
  attributes: { 'messaging.destination.name': 'calls', 'messaging.kafka.offset': 7, 'error.type': undefined },
  links: [{ ...context, spanId: '53995c3f42cd8ad8' }],
  error: undefined,
};

let collector: OtlpCollector | undefined;
afterEach(async () => {
  await collector?.close();
  collector = undefined;
});

function tracerTo(url: string, { timers = systemTimers, batchMs = 5_000 }: { timers?: Timers; batchMs?: number } = {}) {
  const metrics = createMetrics({ processMetrics: false });
  const log = new RememberingLogger();
  const tracer = new OtlpTracer({
    ...{ url: `${url}/v1/traces`, headers: { 'x-key': 'k-1' }, serviceName: 'bots', sampleRatio: 1, withheldFrom: [] },
    ...{ timers, log, metrics, batchMs },
  });
  const fate = async (name: string): Promise<number> =>
    Number(new RegExp(`larkspur_trace_spans_total\\{fate="${name}"\\} (\\d+)`).exec(await metrics.text())?.[1] ?? 0);
  return { tracer, log, fate, text: () => metrics.text() };
}

describe('spans to a collector', () => {
  it('come as they were: ids, times, kind, attributes with a value, links, service', async () => {
    collector = await openCollector();
    const { tracer, fate } = tracerTo(collector.url);
    tracer.end(span);
    tracer.end({ ...span, kind: 'client', error: 'timeout' });
    await tracer.close();
    expect(collector.requests).toMatchObject([{ path: '/v1/traces', headers: { 'x-key': 'k-1' } }]);
    expect(collector.spans).toMatchObject([
      {
        name: 'process calls',
        kind: 5,
        traceId: context.traceId,
        spanId: context.spanId,
        parentSpanId: 'b7ad6b7169203331',
        startNs: 1_764_460_800_000_250_000n,
        endNs: 1_764_460_800_012_500_000n,
        links: [{ traceId: context.traceId, spanId: '53995c3f42cd8ad8' }],
        failed: false,
        service: { 'service.name': 'bots' },
      },
      { kind: 3, failed: true },
    ]);
    expect(collector.spans[0]?.attributes).toEqual({
      'messaging.destination.name': 'calls',
      'messaging.kafka.offset': 7,
    });
    expect(await fate('exported')).toBe(2);
  });

  it('are dropped and counted while nobody is there, which the log says once', async () => {
    const { tracer, log, fate } = tracerTo('http://127.0.0.1:9', { batchMs: 100 });
    for (let n = 0; n < 1_000; n++) tracer.end(span);
    await expect.poll(() => fate('dropped_refused'), { timeout: 5_000 }).toBeGreaterThanOrEqual(512);
    await tracer.close();
    tracer.end(span);
    expect((await fate('dropped_refused')) + (await fate('dropped_end'))).toBe(1_001);
    expect(log.lines.filter(({ message }) => message === 'the collector takes no traces')).toHaveLength(1);
  });

  it('that a collector refuses are counted, and what comes after it is well again arrives', async () => {
    collector = await openCollector();
    collector.answer = 400;
    const { tracer, log, fate } = tracerTo(collector.url);
    for (let n = 0; n < 512; n++) tracer.end(span);
    await expect.poll(() => fate('dropped_refused'), { timeout: 5_000 }).toBe(512);
    collector.answer = 200;
    tracer.end(span);
    await tracer.close();
    expect(await fate('exported')).toBe(1);
    expect(log.lines.map(({ message }) => message)).toEqual([
      'the collector takes no traces',
      'the collector takes traces again',
    ]);
  });

  it('beyond 8,192 that a hanging collector holds up are dropped at once: whoever ends one never waits', async () => {
    collector = await openCollector();
    collector.answer = 'hang';
    let end = (): void => undefined;
    const timers: Timers = {
      after: (_, task) => {
        end = task;
        return () => undefined;
      },
    };
    const { tracer, log, fate, text } = tracerTo(collector.url, { timers });
    for (let n = 0; n < 10_000; n++) tracer.end(span);
    expect(await fate('dropped_full')).toBe(10_000 - 8_192);
    expect(await text()).toContain('larkspur_trace_spans_held 8192');
    const closing = tracer.close();
    end();
    await closing;
    expect(log.lines.at(-1)).toMatchObject({ level: 'warn', fields: { spans: 8_192 } });
  });
});
