import { expect, it } from 'vitest';

import { encodeDone } from '../../src/pipeline/commit-metadata.ts';
import { trackerCapacity } from '../../src/pipeline/offset-tracker.ts';
import { news } from '../support/calls.ts';
import { PipelineBench } from '../support/pipeline-bench.ts';

// Records that an earlier owner had finished filled the tracker without pausing the partition; the next one threw and
// stopped the worker.
it('a partition whose first record is stuck pauses when finished records fill its distance', () => {
  const bench = new PipelineBench();
  bench.upstream('news').script = ({ id }) => (id === 'stuck' ? { afterMs: 9_000 } : {});
  bench.call(news('stuck'));
  for (let i = 1; i <= trackerCapacity + 50; i++) bench.call(news(`n-${i}`));
  const done = Array.from({ length: trackerCapacity - 1 }, (_, i) => i + 1);
  bench.group.committed.set(0, { offset: 0, metadata: encodeDone(0, done) });
  const member = bench.group.member();
  const worker = bench.start(member);
  bench.group.give(0, member);
  bench.run(8_000);
  expect(worker.error).toBeUndefined();
  expect(bench.results).toEqual([]);
  bench.run(60_000);
  expect(bench.results).toHaveLength(52);
  expect(bench.group.committed.get(0)?.offset).toBe(trackerCapacity + 51);
});
