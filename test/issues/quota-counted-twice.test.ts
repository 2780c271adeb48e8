import { expect, it } from 'vitest';

import { read } from '../support/calls.ts';
import { PipelineBench } from '../support/pipeline-bench.ts';

// A call counted against its quota twice from its start to its answer: as granted and as promised. With a slow path half
// of the quota was never used.
it('100 calls at 50 a second take two windows, however long an answer takes', () => {
  const bench = new PipelineBench({ upstreams: { feishu: { bucketConcurrency: 64 } } });
  bench.upstream().script = () => ({ afterMs: 600 });
  bench.start();
  for (let i = 0; i < 100; i++) bench.call(read(`r-${i}`));
  bench.run(20_000);
  const starts = bench.upstream().attempts.map(({ atMs }) => atMs);
  expect(starts).toHaveLength(100);
  expect(starts.filter((atMs) => atMs < 1_030)).toHaveLength(50);
  expect(Math.max(...starts)).toBeLessThan(2_100);
});
