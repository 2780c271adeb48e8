import { describe, expect, it } from 'vitest';

import { createMetrics } from '../../../src/adapters/prometheus/metrics.ts';
import { explainRecord } from '../../../src/pipeline/explain/explain-record.ts';
import { readRef } from '../../../src/pipeline/explain/find-record.ts';
import { apiHealth } from '../../../src/pipeline/health/api-health.ts';
import { news } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';

describe('a paused upstream', () => {
  it('gets no call and gives no fallback, others go on, and what waited goes when it is let go', () => {
    const fallback = { default: { body: {} }, afterAttempts: 0 };
    const bench = new PipelineBench({ upstreams: { news: { fallback }, weather: {} } });
    const { house } = bench.start();
    house.pauses.pause('news', 'ana');
    for (let i = 0; i < 5; i++) bench.call(news(`n-${i}`));
    bench.call({ ...news('w'), upstream: 'weather' });
    bench.run(3_600_000);
    expect(explainRecord(house, readRef('n-1'), 'n-1')?.waits[0]).toMatchObject({
      ...{ what: 'paused', on: 'news', why: 'news is paused by ana' },
    });
    expect(bench.upstream('news').attempts).toEqual([]);
    expect(bench.results.map(({ id }) => id)).toEqual(['w']);

    house.pauses.resume('news');
    bench.run(100);
    expect(bench.results).toHaveLength(6);
  });

  it('is shown: who has paused it, and by a metric', () => {
    const metrics = createMetrics({ processMetrics: false });
    const bench = new PipelineBench({ upstreams: { news: {}, weather: {} }, metrics });
    const { house } = bench.start();
    const shown = () => apiHealth(house).map(({ pausedBy }) => pausedBy);
    house.pauses.pause('news', 'ana');
    expect(shown()).toEqual([['ana'], []]);
    expect([...metrics.samples('larkspur_upstream_paused')]).toEqual([
      [{ upstream: 'news' }, 1],
      [{ upstream: 'weather' }, 0],
    ]);
    house.pauses.resume('news');
    expect(shown()).toEqual([[], []]);
  });

  it('goes on when the last of those who hold it lets go', () => {
    const bench = new PipelineBench({ upstreams: { news: {} } });
    const { house } = bench.start();
    house.pauses.pause('news', 'ana');
    house.pauses.pause('news', 'playbook x');
    bench.call(news('n'));
    house.pauses.resume('news', 'playbook x');
    bench.run(1_000);
    expect([house.pauses.heldBy('news'), bench.results]).toEqual([['ana'], []]);
    house.pauses.resume('news', 'ana');
    bench.run(100);
    expect(bench.results).toHaveLength(1);
  });

  it('lets a call whose time is over end', () => {
    const bench = new PipelineBench({ upstreams: { news: {} } });
    const { house } = bench.start();
    house.pauses.pause('news', 'ana');
    bench.call(news('n', { ttlMs: 5_000 }));
    bench.run(10_000);
    expect(bench.deadLetters).toMatchObject([{ reason: 'deadline_passed' }]);
  });

  it('lets each call whose time is over end, whoever waits longer before it', () => {
    const bench = new PipelineBench({ upstreams: { news: {} } });
    const { house } = bench.start();
    house.pauses.pause('news', 'ana');
    bench.call(news('patient'));
    bench.run(1_000);
    for (const ttlMs of [20_000, 5_000, 9_000]) bench.call(news(`in-${ttlMs}`, { ttlMs }));
    bench.run(10_000);
    expect(bench.deadLetters).toMatchObject([{ reason: 'deadline_passed' }, { reason: 'deadline_passed' }]);
    bench.run(15_000);
    expect(bench.deadLetters).toHaveLength(3);

    house.pauses.resume('news');
    bench.run(100);
    expect(bench.results.map(({ id }) => id)).toEqual(['patient']);
  });

  it('lets all go on at once when it is let go, whenever their time would have been over', () => {
    const bench = new PipelineBench({ upstreams: { news: {} } });
    const { house } = bench.start();
    house.pauses.pause('news', 'ana');
    for (const ttlMs of [undefined, 20_000, 50_000, 90_000]) bench.call(news(`in-${ttlMs ?? 'any'}`, { ttlMs }));
    bench.run(5_000);
    house.pauses.resume('news');
    bench.run(100);
    expect(bench.results).toHaveLength(4);
  });

  it('gets no call that had its turn before and waited for a slot', () => {
    const bench = new PipelineBench({ upstreams: { news: { concurrency: 1, script: () => ({ afterMs: 1_000 }) } } });
    const { house } = bench.start();
    bench.call(news('a'));
    bench.call(news('b'));
    bench.run(100);
    expect(house.destinations.get('news')?.slots.waiting).toBe(1);
    house.pauses.pause('news', 'ana');
    bench.run(60_000);
    expect(bench.upstream('news').attempts).toHaveLength(1);
    house.pauses.resume('news');
    bench.run(2_000);
    expect(bench.results).toHaveLength(2);
  });
});
