import { expect, it } from 'vitest';

import { news } from '../support/calls.ts';
import { PipelineBench } from '../support/pipeline-bench.ts';

// Taking the pipeline down aborted the calls in flight one by one; each freed its slot, and the next call that waited for
// one was sent, only to be aborted in its turn with an unknown outcome.
it('a pipeline that is taken down sends nothing that still waited for a slot', () => {
  const bench = new PipelineBench({ upstreams: { news: { concurrency: 1 } } });
  bench.upstream('news').script = () => ({ afterMs: 5_000 });
  const worker = bench.start();
  for (let i = 0; i < 4; i++) bench.call(news(`n-${i}`), `k-${i}`);
  bench.run(1_000);
  expect(bench.upstream('news').inFlight).toBe(1);
  worker.crash();
  expect(bench.upstream('news').attempts).toHaveLength(1);
  expect(bench.upstream('news').inFlight).toBe(0);
});
