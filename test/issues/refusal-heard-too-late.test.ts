import { expect, it } from 'vitest';

import { news } from '../support/calls.ts';
import { PipelineBench } from '../support/pipeline-bench.ts';

// A probe that was refused gave its place at the breaker to the next call before its bucket was cooled down, so that call
// went out in the same moment, into the refusal.
it('no call starts with the place of a refused probe before the reset', () => {
  const bench = new PipelineBench();
  const upstream = bench.upstream('news');
  let sick = true;
  upstream.script = () =>
    sick
      ? { fail: { how: 'refused', sent: false } }
      : { status: 429, headers: { 'retry-after': '10' }, body: {}, afterMs: 100 };
  bench.start();
  for (let i = 0; i < 40; i++) bench.call(news(`n-${i}`), `k-${i}`);
  bench.run(300);
  sick = false;
  const before = upstream.attempts.length;
  bench.run(9_000);
  const probes = upstream.attempts.slice(before);
  const [first] = probes;
  expect(first).toBeDefined();
  expect(probes.filter(({ atMs }) => atMs >= (first?.atMs ?? 0) + 100)).toEqual([]);
});
