import { describe, expect, it } from 'vitest';

import { createMetrics } from '../../../../src/adapters/prometheus/metrics.ts';
import { Measure, type MeasureOptions } from '../../../../src/operators/playbook/measure.ts';

const plain: MeasureOptions = {
  ...{ metric: '', of: [], where: {}, overMs: 60_000, atLeast: 1, worst: 'max' },
};

describe('a measure', () => {
  it('is the worst series of a gauge that has the labels', () => {
    const metrics = createMetrics({ processMetrics: false });
    const scores = { news: 74, weather: 99 };
    metrics.gauge('larkspur_health_score', 'score', ['upstream'], () =>
      Object.entries(scores).map(([upstream, score]) => [{ upstream }, score] as const),
    );
    const score: MeasureOptions = { ...plain, metric: 'larkspur_health_score' };
    expect(new Measure(score, metrics).look(0)).toBe(99);
    expect(new Measure({ ...score, worst: 'min' }, metrics).look(0)).toBe(74);
    expect(new Measure({ ...score, where: { upstream: 'weather' }, worst: 'min' }, metrics).look(0)).toBe(99);
    expect(new Measure({ ...score, where: { upstream: 'gone' } }, metrics).look(0)).toBeUndefined();
  });

  it('is the growth of a counter in a second, over the window or since the first look', () => {
    const metrics = createMetrics({ processMetrics: false });
    const errors = metrics.counter('errors_total', 'errors', ['command']);
    const measure = new Measure({ ...plain, metric: 'errors_total' }, metrics);
    errors.add({ command: 'a' }, 1_000);
    expect(measure.look(0)).toBeUndefined();
    errors.add({ command: 'a' }, 5);
    errors.add({ command: 'b' }, 15);
    expect(measure.look(10_000)).toBe(2);
    expect(measure.look(80_000)).toBe(0);
  });

  it('is nothing as a share of nothing, also where no least is asked for', () => {
    const metrics = createMetrics({ processMetrics: false });
    const shown = { part: 0 };
    metrics.gauge('part', 'a part', [], () => [[{}, shown.part]]);
    metrics.gauge('whole', 'a whole', [], () => [[{}, 0]]);
    const measure = new Measure({ ...plain, metric: 'part', of: ['whole'], atLeast: 0 }, metrics);
    for (shown.part of [0, 1]) expect(measure.look(0)).toBeUndefined();
  });

  it('is a share of what else has grown, where there is enough of it', () => {
    const metrics = createMetrics({ processMetrics: false });
    const errors = metrics.counter('larkspur_redis_errors_total', 'errors', ['command']);
    const seconds = metrics.histogram('larkspur_redis_seconds', 'time', ['command'], [0.1]);
    const of = ['larkspur_redis_errors_total', 'larkspur_redis_seconds_count'];
    const measure = new Measure({ ...plain, metric: 'larkspur_redis_errors_total', of, atLeast: 50 }, metrics);
    measure.look(0);
    for (let i = 0; i < 40; i++) seconds.observe({ command: 'claim' }, 0.01);
    for (let i = 0; i < 8; i++) errors.add({ command: 'claim' });
    expect(measure.look(1_000)).toBeUndefined();
    for (let i = 0; i < 2; i++) seconds.observe({ command: 'claim' }, 0.01);
    expect(measure.look(2_000)).toBeCloseTo(0.16);
  });
});
