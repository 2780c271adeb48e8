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

const usualPerSecond = 9.3;

it('S002-01: ten minutes at ten times the usual load, 60 % of it news: none is refused or repeated, and p99 is as usual', () => {
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
  const { settled } = bench.start();
  const pick = (): string => {
    let left = random.next();
    return shares.find(([, share]) => (left -= share) < 0)?.[0] ?? 'ip';
  };
  /** A minute of calls as they come by chance. @returns from and to which result its calls ended */
  const minute = (perSecond: number): readonly [number, number] => {
    const before = settled.length;
    for (let n = 0; n < 60 * perSecond; n++) {
      bench.call(news(`c-${calls++}`, { upstream: pick() }));
      bench.run(Math.round((-Math.log(1 - random.next()) * 1_000) / perSecond));
    }
    return [before, settled.length];
  };
  let calls = 0;
  const usual = Array.from({ length: 3 }, () => minute(usualPerSecond));
  const loaded = Array.from({ length: 10 }, () => minute(10 * usualPerSecond));
  bench.run(5_000);

  const { results } = bench;
  expect(results).toHaveLength(calls);
  expect(results.every(({ status, attempts }) => status === 'ok' && attempts.length === 1)).toBe(true);
  const p99 = (...minutes: (readonly [number, number])[]): number =>
    quantile(
      minutes.flatMap((span) => results.slice(...span).map(({ timing }) => timing.totalMs)),
      0.99,
    );
  expect(Math.max(...loaded.map((span) => p99(span))) / p99(...usual)).toBeLessThan(1.2);
}, 120_000);
