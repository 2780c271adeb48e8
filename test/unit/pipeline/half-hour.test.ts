import { expect, it } from 'vitest';

import { news } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';

const spread = { upstreams: { news: { bulkSpreadMs: 60_000 } } };

it('spreads bulk calls that come at the full hour over the minute after it; others, and later ones, go at once', () => {
  const bench = new PipelineBench(spread);
  bench.start();
  for (let n = 0; n < 600; n++) bench.call(news(`bulk-${n}`, { priority: 'bulk' }));
  bench.call(news('now'));
  const starts = (prefix: string) =>
    bench
      .upstream('news')
      .attempts.filter(({ id }) => id.startsWith(prefix))
      .map(({ atMs }) => atMs);
  bench.run(59_999);
  expect(starts('now')[0]).toBeLessThan(100);
  expect(starts('bulk')).toHaveLength(600);
  const perSecond = Array.from({ length: 60 }, (_, n) => starts('bulk').filter((ms) => Math.floor(ms / 1_000) === n));
  expect(Math.max(...perSecond.map(({ length }) => length))).toBeLessThan(30);
  expect(perSecond.filter(({ length }) => length === 0).length).toBeLessThan(5);
  bench.run(1);
  bench.call(news('later', { priority: 'bulk' }));
  bench.run(100);
  expect(starts('later')).toHaveLength(1);
});

it('lets no bulk call miss its deadline for it, and keeps the order of a key', () => {
  const bench = new PipelineBench(spread);
  bench.start();
  for (let n = 0; n < 50; n++) bench.call(news(`a-${n}`, { priority: 'bulk' }), 'k');
  for (let n = 0; n < 50; n++) bench.call(news(`d-${n}`, { priority: 'bulk', ttlMs: 1_000 }));
  bench.run(61_000);
  const ids = bench.upstream('news').attempts.map(({ id }) => id);
  expect(ids.filter((id) => id.startsWith('a-'))).toEqual(Array.from({ length: 50 }, (_, n) => `a-${n}`));
  expect(ids.filter((id) => id.startsWith('d-'))).toHaveLength(50);
  expect(bench.deadLetters).toEqual([]);
});
