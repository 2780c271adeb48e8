import { expect, it } from 'vitest';

import { news, send } from '../support/calls.ts';
import { PipelineBench } from '../support/pipeline-bench.ts';

// A call of an upstream with a cache counted as having a fallback although nothing was remembered yet: with its breaker
// open every call became a dead letter at once, without one attempt.
it.each([
  ['an upstream that remembers answers', { cacheTtlMs: 300_000 }, {}],
  ['a call that asks for "cached"', {}, { fallback: 'cached' }],
])('%s has no fallback while nothing is remembered: its calls wait for the breaker', (_what, fallback, wish) => {
  const bench = new PipelineBench({ upstreams: { news: { fallback, script: () => ({ status: 503 }) } } });
  bench.start();
  for (let i = 0; i < 30; i++) bench.call(news(`n-${i}`, wish));
  bench.run(30_000);
  expect(bench.deadLetters).toEqual([]);
  bench.upstream('news').script = () => ({});
  bench.run(600_000);
  expect(bench.results.map(({ status }) => status)).toEqual(Array.from({ length: 30 }, () => 'ok'));
});

// A GET that timed out has no unknown effect: it may be asked again, so a declared answer may stand in for it.
it('a GET that always times out gets its fallback, not outcome_unknown', () => {
  const bench = new PipelineBench({
    upstreams: { news: { fallback: { default: { body: { items: [] } } }, script: () => ({ hang: true }) } },
  });
  bench.start();
  bench.call(news('n-1'));
  bench.run(120_000);
  expect(bench.deadLetters).toEqual([]);
  expect(bench.results).toMatchObject([{ status: 'fallback', source: 'default', response: { body: { items: [] } } }]);
});

it('a GET that timed out and is out of time ends as deadline_passed', () => {
  const bench = new PipelineBench();
  bench.upstream('news').script = () => ({ hang: true });
  bench.start();
  bench.call(news('n-1', { ttlMs: 12_000 }));
  bench.run(60_000);
  expect(bench.deadLetters.map(({ reason }) => reason)).toEqual(['deadline_passed']);
});

// The same call with a key the platform knows keeps its unknown outcome: it may have acted.
it('a send that timed out and is out of time stays outcome_unknown', () => {
  const bench = new PipelineBench();
  bench.upstream().script = () => ({ hang: true });
  bench.start();
  bench.call(send('n-1', 'oc_1', { ttlMs: 12_000 }));
  bench.run(60_000);
  expect(bench.deadLetters.map(({ reason }) => reason)).toEqual(['outcome_unknown']);
});
