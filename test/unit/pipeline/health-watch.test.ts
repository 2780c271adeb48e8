import { describe, expect, it } from 'vitest';

import { createMetrics } from '../../../src/adapters/prometheus/metrics.ts';
import { Stability } from '../../../src/runtime/stability/stability.ts';
import { news } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';

/** A worker with two upstreams of which `news` can be made sick, looked at once a second. */
function watched() {
  const metrics = createMetrics({ processMetrics: false });
  const bench = new PipelineBench({ upstreams: { news: {}, weather: {} }, metrics });
  const { house } = bench.start();
  const { time } = bench;
  const stability = new Stability(house, metrics, { clock: time, timers: time, metrics });
  stability.start();
  const scoreOf = (name: string): number =>
    stability.scores().upstreams.find(({ upstream }) => upstream === name)?.score ?? NaN;
  return { bench, stability, scoreOf, metrics };
}

describe('the health of a worker', () => {
  it('is 100 where all is well, falls for the upstream that fails and for no other, and comes back', () => {
    const { bench, stability, scoreOf } = watched();
    const traffic = (seconds: number): void => {
      for (let second = 0; second < seconds; second++) {
        for (let i = 0; i < 5; i++) {
          bench.call(news(`n-${bench.time.now()}-${i}`, { ttlMs: 600_000 }));
          bench.call({ ...news(`w-${bench.time.now()}-${i}`), upstream: 'weather' });
        }
        bench.run(1_000);
      }
    };
    traffic(30);
    expect([scoreOf('news'), scoreOf('weather'), stability.scores().overall]).toEqual([100, 100, 100]);

    bench.upstream('news').script = () => ({ status: 503 });
    traffic(10);
    const after10s = scoreOf('news');
    expect(after10s).toBeLessThan(75);
    traffic(50);
    expect(scoreOf('news')).toBeLessThan(50);
    expect(scoreOf('weather')).toBe(100);
    expect(stability.scores().overall).toBeLessThan(90);

    bench.upstream('news').script = () => ({});
    traffic(150);
    expect(scoreOf('news')).toBe(100);
  });

  it('is shown as metrics', async () => {
    const { bench, metrics } = watched();
    bench.run(2_000);
    const page = await metrics.text();
    expect(page).toContain('larkspur_health_score{upstream="news"} 100');
    expect(page).toContain('larkspur_health_score_overall 100');
  });

  it('ends with its looks', () => {
    const { bench, stability } = watched();
    let looks = 0;
    stability.onLook(() => looks++);
    bench.run(3_000);
    stability.stop();
    bench.run(10_000);
    expect(looks).toBe(3);
  });
});

describe('the stability graph', () => {
  it('leads from the sick upstream over its bucket and lanes to partitions, topics and the machine', () => {
    const { bench, stability } = watched();
    bench.upstream('news').script = () => ({ status: 503 });
    for (let i = 0; i < 60; i++) bench.call(news(`n-${i}`));
    bench.run(3_000);
    const { from, nodes, edges } = stability.graph();

    expect(from).toBe('upstream/news');
    expect(nodes.map(({ id }) => id)).toEqual([
      'upstream/news',
      'lanes/news',
      'partition/calls/0',
      'topic/calls',
      'host',
    ]);
    expect(edges.map((edge) => [edge.from, edge.to])).toEqual([
      ['upstream/news', 'lanes/news'],
      ['lanes/news', 'partition/calls/0'],
      ['partition/calls/0', 'topic/calls'],
      ['topic/calls', 'host'],
    ]);
    const says = Object.fromEntries(nodes.map((node) => [node.id, node.says]));
    // A few have left for a delay topic.
    const waiting = 60 - bench.records('retry.10s').length;
    expect([says['lanes/news']?.['calls'], waiting > 40]).toEqual([waiting, true]);
    expect(says['partition/calls/0']?.['unfinished']).toBeGreaterThanOrEqual(waiting);
    expect(nodes[0]?.sick).toBeGreaterThan(0.3);
  });

  it('goes the other way from what was asked for, and is empty for what is not there', () => {
    const { bench, stability } = watched();
    bench.upstream('news').script = () => ({ status: 503 });
    bench.call(news('n'));
    bench.run(5_000);
    expect(stability.graph('host').nodes.map(({ id }) => id)).toContain('upstream/news');
    expect(stability.graph('upstream/gone').nodes).toEqual([]);
  });

  it('shows the buckets of an upstream with limits between it and its lanes', () => {
    const metrics = createMetrics({ processMetrics: false });
    const bench = new PipelineBench({ metrics });
    const { house } = bench.start();
    const stability = new Stability(house, metrics, { clock: bench.time, timers: bench.time, metrics });
    stability.start();
    bench.upstream('feishu').script = () => ({ hang: true });
    bench.call({
      path: '/open-apis/im/v1/messages',
      query: { receive_id_type: 'chat_id' },
      body: { receive_id: 'oc_1' },
    });
    bench.run(3_000);
    const kinds = new Set(stability.graph('upstream/feishu').nodes.map(({ kind }) => kind));
    expect([...kinds]).toEqual(['upstream', 'bucket', 'lanes', 'partition', 'topic', 'host']);
    stability.stop();
  });
});
