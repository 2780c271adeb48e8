import { expect, it } from 'vitest';

import { news } from '../support/calls.ts';
import { PipelineBench } from '../support/pipeline-bench.ts';

// An upstream without configured limits had no bucket to cool down: a refused call was sent again at once, for ever.
it('a 429 of an upstream without limits is waited for like any other', () => {
  const bench = new PipelineBench();
  const refusedUntilMs = 7_000;
  bench.upstream('news').script = ({ atMs }) =>
    atMs < refusedUntilMs ? { status: 429, headers: { 'retry-after': '7' }, afterMs: 5 } : { afterMs: 5 };
  bench.start();
  for (let i = 0; i < 20; i++) bench.call(news(`n-${i}`));
  bench.run(1_000);
  bench.call(news('late'));
  bench.run(30_000);
  const { attempts } = bench.upstream('news');
  expect(attempts.filter(({ atMs }) => atMs > 5 && atMs < refusedUntilMs)).toEqual([]);
  expect(attempts).toHaveLength(41);
  expect(bench.results).toHaveLength(21);
});

it('an upstream without limits still uses all of its slots', () => {
  const bench = new PipelineBench({ upstreams: { news: { concurrency: 64, bucketConcurrency: 32 } } });
  bench.upstream('news').script = () => ({ afterMs: 100 });
  bench.start();
  for (let i = 0; i < 200; i++) bench.call(news(`n-${i}`));
  bench.run(1_000);
  expect(bench.upstream('news').mostInFlight).toBe(64);
});
