import { expect, it } from 'vitest';

import { benchConfig } from '../../bench/embedded-worker.ts';
import { quantile } from '../../bench/quantile.ts';
import { news } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';
import { seededRandom } from '../../support/virtual-time.ts';

const shares = [
  ['news', 0.6],
  ['weather', 0.2],
  ['stock', 0.1],
  ['ip', 0.1],
] as const;

it('S002-01: ten minutes at ten times the usual load, 60 % of it news: none is refused or repeated, and p99 stays', () => {
  const names = shares.map(([name]) => name);
  const declared = Object.fromEntries(
    names.map((name) => [name, { preset: 'platform' as const, baseUrl: `http://${name}` }]),
  );
  const { upstreams } = benchConfig({ upstreams: declared });
  const settings = names.map((name) => {
    const { concurrency = 1, bucketConcurrency = 1, breaker, timeouts } = upstreams[name] ?? {};
    return [
      name,
      { concurrency, bucketConcurrency, attemptMs: timeouts?.attemptMs ?? 0, ...(breaker && { breaker }) },
    ] as const;
  });
  const bench = new PipelineBench({ upstreams: Object.fromEntries(settings) });
  const random = seededRandom(201);
  for (const name of names) bench.upstream(name).script = () => ({ afterMs: 20 + random.next() * 40 });
  bench.start();
  const pick = (): string => {
    let left = random.next();
    return shares.find(([, share]) => (left -= share) < 0)?.[0] ?? 'ip';
  };
  const perSecond = 93;
  const tookMs: number[][] = [];
  for (let minute = 0; minute < 10; minute++) {
    const before = bench.results.length;
    for (let n = 0; n < 60 * perSecond; n++) {
      bench.call(news(`${minute}-${n}`, { upstream: pick() }));
      // By chance, as callers come.
      bench.run(Math.round((-Math.log(1 - random.next()) * 1_000) / perSecond));
    }
    tookMs.push(bench.results.slice(before).map(({ timing }) => timing.totalMs));
  }
  bench.run(5_000);

  expect(bench.results).toHaveLength(600 * perSecond);
  expect(bench.results.every(({ status, attempts }) => status === 'ok' && attempts.length === 1)).toBe(true);
  const p99 = tookMs.map((times) => quantile(times, 0.99));
  expect(Math.max(...p99) / Math.min(...p99)).toBeLessThan(1.2);
}, 120_000);
