import type { BenchUpstream } from './bench-destination.ts';
import { news } from './calls.ts';
import { PipelineBench } from './pipeline-bench.ts';

/** One question, asked again and again. */
export const top = { path: '/top' };

/** An upstream as a platform declares it: five failures in a row open its breaker for a minute, answers live for 300 s. */
export const platform = {
  fallback: { cacheTtlMs: 300_000, afterAttempts: 0 },
  attemptMs: 3_000,
  breaker: { consecutiveFailures: 5, coolDownMs: 60_000, maxOpenMs: 60_000, openJitter: 0, minCalls: 1e9 },
} as const satisfies BenchUpstream;

/** `news` answers once with a headline, then is down. */
export function outage(upstream: BenchUpstream = platform) {
  const bench = new PipelineBench({ upstreams: { news: upstream } });
  bench.upstream('news').script = () => ({ body: { headline: 'good' } });
  const { house } = bench.start();
  bench.call(news('good', top));
  bench.run(10);
  bench.upstream('news').script = () => ({ status: 503 });
  const open = (): void => {
    for (let i = 0; i < 5; i++)
      bench.call(news(`opens-${i}`, { path: `/opens-${i}`, retry: false, fallback: { default: 0 } }));
    bench.run(10);
  };
  const resultOf = (id: string) => bench.results.find((result) => result.id === id);
  return { bench, house, open, resultOf };
}
