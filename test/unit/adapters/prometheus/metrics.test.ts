import { describe, expect, it } from 'vitest';

import { createMetrics, troubleMetric } from '../../../../src/adapters/prometheus/metrics.ts';
import { LarkspurError } from '../../../../src/model/errors.ts';

const make = (maxSeries = 500) => createMetrics({ processMetrics: false, maxSeries });

/** The samples of one metric, as `name{labels} value` lines. */
const linesOf = async (metrics: { text(): Promise<string> }, name: string): Promise<string[]> =>
  (await metrics.text()).split('\n').filter((line) => line.startsWith(name));

describe('createMetrics', () => {
  it('S000-38: service_retry_total has exactly the labels service, status_code and error_type', async () => {
    const metrics = make();
    const retries = metrics.counter('service_retry_total', 'Retries', ['service', 'status_code', 'error_type']);
    retries.add({ service: 'feishu', status_code: '503', error_type: 'unavailable' });
    retries.add({ service: 'feishu', status_code: '503', error_type: 'unavailable' }, 2);
    retries.add({ service: 'news', status_code: '', error_type: 'reset' });

    expect(await linesOf(metrics, 'service_retry_total')).toEqual([
      'service_retry_total{service="feishu",status_code="503",error_type="unavailable"} 3',
      'service_retry_total{service="news",status_code="",error_type="reset"} 1',
    ]);
  });

  it('S000-39: service_retry_latency_seconds has a series per attempt number, with _bucket, _sum and _count', async () => {
    const metrics = make();
    const latency = metrics.histogram(
      'service_retry_latency_seconds',
      'Latency of retries',
      ['service', 'attempt_number'],
      [0.1, 1],
    );
    latency.observe({ service: 'feishu', attempt_number: '1' }, 0.05);
    latency.observe({ service: 'feishu', attempt_number: '1' }, 0.5);
    latency.observe({ service: 'feishu', attempt_number: '2' }, 5);

    const lines = await linesOf(metrics, 'service_retry_latency_seconds');
    const one = 'service="feishu",attempt_number="1"';
    expect(lines).toEqual(
      expect.arrayContaining([
        `service_retry_latency_seconds_bucket{le="0.1",${one}} 1`,
        `service_retry_latency_seconds_bucket{le="1",${one}} 2`,
        `service_retry_latency_seconds_bucket{le="+Inf",${one}} 2`,
        `service_retry_latency_seconds_sum{${one}} 0.55`,
        `service_retry_latency_seconds_count{${one}} 2`,
        'service_retry_latency_seconds_count{service="feishu",attempt_number="2"} 1',
      ]),
    );
  });

  it('gives the same sums at every scrape, and goes on counting between them', async () => {
    const metrics = make();
    const counter = metrics.counter('steps_total', 'Steps', []);
    counter.add({}, 2);
    await metrics.text();
    counter.add({});

    expect(await linesOf(metrics, 'steps_total')).toEqual(['steps_total 3']);
    expect(await linesOf(metrics, 'steps_total')).toEqual(['steps_total 3']);
  });

  it('shows a counter without labels as 0 before its first step', async () => {
    const metrics = make();
    metrics.counter('steps_total', 'Steps', []);

    expect(await linesOf(metrics, 'steps_total')).toEqual(['steps_total 0']);
  });

  it('keeps as many label sets apart as allowed, and counts the rest under other', async () => {
    const metrics = make(3);
    const counter = metrics.counter('calls_total', 'Calls', ['a', 'b']);
    for (let n = 0; n < 10; n++) counter.add({ a: `a${n}`, b: 'b' });
    counter.add({ a: 'a0', b: 'b' });

    expect(await linesOf(metrics, 'calls_total')).toEqual([
      'calls_total{a="a0",b="b"} 2',
      'calls_total{a="a1",b="b"} 1',
      'calls_total{a="a2",b="b"} 1',
      'calls_total{a="other",b="other"} 7',
    ]);
    expect(await linesOf(metrics, troubleMetric)).toEqual([
      `${troubleMetric}{metric="calls_total",trouble="label_overflow"} 7`,
    ]);
  });

  it('caps histograms and gauges the same way', async () => {
    const metrics = make(2);
    const histogram = metrics.histogram('took_seconds', 'Took', ['a'], [1]);
    for (let n = 0; n < 5; n++) histogram.observe({ a: `a${n}` }, 0.5);
    metrics.gauge('depth', 'Depth', ['a'], () => ['x', 'y', 'z'].map((a) => [{ a }, 1] as const));

    expect(await linesOf(metrics, 'took_seconds_count{a="other"}')).toEqual(['took_seconds_count{a="other"} 3']);
    expect(await linesOf(metrics, 'depth')).toEqual(['depth{a="x"} 1', 'depth{a="y"} 1']);
  });

  it('reads a gauge at each scrape, from every reader, and forgets sets that are gone', async () => {
    const metrics = make();
    const partitions = [0, 1];
    metrics.gauge('depth', 'Depth', ['p'], () => partitions.map((p) => [{ p: `${p}` }, p * 10] as const));
    metrics.gauge('depth', 'Depth', ['p'], () => [[{ p: 'all' }, 7]]);

    expect(await linesOf(metrics, 'depth')).toEqual(['depth{p="0"} 0', 'depth{p="1"} 10', 'depth{p="all"} 7']);
    partitions.pop();
    expect(await linesOf(metrics, 'depth')).toEqual(['depth{p="0"} 0', 'depth{p="all"} 7']);
  });

  it('keeps the page whole when a reader throws or a value is not a number', async () => {
    const metrics = make();
    const counter = metrics.counter('steps_total', 'Steps', []);
    counter.add({}, Number.NaN);
    counter.add({}, -1);
    counter.add({}, Infinity);
    metrics.histogram('took_seconds', 'Took', [], [1]).observe({}, Number.NaN);
    metrics.gauge('depth', 'Depth', [], () => {
      throw new Error('gone');
    });

    expect(await linesOf(metrics, 'steps_total')).toEqual(['steps_total 0']);
    expect(await linesOf(metrics, troubleMetric)).toEqual(
      expect.arrayContaining([
        `${troubleMetric}{metric="steps_total",trouble="bad_value"} 3`,
        `${troubleMetric}{metric="took_seconds",trouble="bad_value"} 1`,
        // One per scrape.
        `${troubleMetric}{metric="depth",trouble="read_failed"} 2`,
      ]),
    );
  });

  it('gives the same instrument for the same name, and refuses the name in another shape', async () => {
    const metrics = make();
    metrics.counter('steps_total', 'Steps', ['a']).add({ a: 'x' });
    metrics.counter('steps_total', 'Steps', ['a']).add({ a: 'x' });

    expect(await linesOf(metrics, 'steps_total')).toEqual(['steps_total{a="x"} 2']);
    expect(() => metrics.counter('steps_total', 'Steps', ['b'])).toThrow(LarkspurError);
    expect(() => metrics.histogram('steps_total', 'Steps', ['a'], [1])).toThrow(/another shape/);
  });

  it('measures the process, the event loop included, under the prefix', async () => {
    const page = await createMetrics({ prefix: 'x_' }).text();

    expect(page).toContain('x_nodejs_eventloop_lag_p99_seconds');
    expect(page).toContain('x_process_resident_memory_bytes');
  });

  it('escapes label values, so that no value can forge a line', async () => {
    const metrics = make();
    metrics.counter('steps_total', 'Steps', ['a']).add({ a: 'x"} 1\nforged 1' });

    expect(await linesOf(metrics, 'forged')).toEqual([]);
  });
});
