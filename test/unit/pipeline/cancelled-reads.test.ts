import { describe, expect, it } from 'vitest';

import { cancel } from '../../support/cancel.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';

describe('a read that nobody wants any more', () => {
  it('ends at once also where it asks what somebody is just asking, or what is known', () => {
    const bench = new PipelineBench({ upstreams: { news: { cacheMs: 60_000 } } });
    bench.upstream('news').script = ({ id }) => ({ afterMs: id === 'known' ? 10 : 9_000 });
    const { house } = bench.start();
    bench.call({ id: 'known', upstream: 'news', path: '/known' });
    bench.run(100);
    bench.call({ id: 'first', upstream: 'news', path: '/first' }, 'k');
    bench.call({ id: 'asks', upstream: 'news', path: '/now' });
    bench.call({ id: 'asks-too', upstream: 'news', path: '/now' }, 'k');
    bench.call({ id: 'knows', upstream: 'news', path: '/known' }, 'k');
    bench.run(100);
    for (const id of ['asks-too', 'knows']) cancel(bench, house, id);
    bench.run(100);

    expect(bench.results.slice(1).map(({ id, status }) => [id, status])).toEqual([
      ['asks-too', 'cancelled'],
      ['knows', 'cancelled'],
    ]);
  });

  it('ends as cancelled also where it waited for what somebody asked, and that brought its answer', () => {
    const bench = new PipelineBench({ upstreams: { news: { cacheMs: 60_000 } } });
    bench.upstream('news').script = () => ({ afterMs: 2_000 });
    const { house } = bench.start();
    for (const id of ['asks', 'waits', 'waits-too']) bench.call({ id, upstream: 'news', path: '/now' });
    bench.run(100);
    cancel(bench, house, 'waits');
    bench.run(5_000);

    expect(bench.upstream('news').attempts.map(({ id }) => id)).toEqual(['asks']);
    expect(Object.fromEntries(bench.results.map(({ id, status, source }) => [id, `${status} ${source}`]))).toEqual({
      ...{ asks: 'ok live', waits: 'cancelled default', 'waits-too': 'ok cache' },
    });
  });
});
