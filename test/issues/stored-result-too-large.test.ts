import { expect, it } from 'vitest';

import { react } from '../support/calls.ts';
import { PipelineBench } from '../support/pipeline-bench.ts';

// The claim remembers the whole answer; a worker that died before the shorter record was written left one that never
// fitted: its next owner held it for ever.
it('a remembered result that does not fit its topic is written without its body', () => {
  const bench = new PipelineBench({ resultBytes: 2_000 });
  bench.upstream().script = () => ({ body: { code: 0, data: 'x'.repeat(5_000) } });
  bench.sink.hold();
  const dying = bench.start();
  bench.call(react('c-1'));
  bench.run(100);
  dying.crash();
  bench.sink.release();
  const worker = bench.start();
  bench.run(1_000);
  expect(bench.results).toMatchObject([{ id: 'c-1', status: 'ok', response: { status: 200 } }]);
  expect(bench.results[0]?.response).not.toHaveProperty('body');
  expect(worker.settled).toHaveLength(1);
  expect(bench.lag).toBe(0);
});
