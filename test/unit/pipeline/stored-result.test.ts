import { expect, it } from 'vitest';

import { news } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';

it.each([
  [100_000, true],
  [300_000, false],
])('a duplicate of an answer of %i bytes gets its body: %s; the first always does', (bytes, keeps) => {
  const bench = new PipelineBench();
  bench.upstream('news').script = () => ({ body: { text: 'x'.repeat(bytes) } });
  bench.start();
  bench.call(news('n'));
  bench.run(1_000);
  bench.call(news('n'));
  bench.run(1_000);
  expect(bench.upstream('news').attempts).toHaveLength(1);
  expect(bench.results.map(({ status, response }) => [status, response?.body !== undefined])).toEqual([
    ['ok', true],
    ['duplicate', keeps],
  ]);
});
