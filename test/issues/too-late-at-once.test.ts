import { describe, expect, it } from 'vitest';

import { news, read } from '../support/calls.ts';
import { PipelineBench } from '../support/pipeline-bench.ts';

describe('a call whose deadline comes before what it waits for', () => {
  it('ends at once when its bucket cools down for longer', () => {
    const bench = new PipelineBench();
    bench.upstream().script = ({ id }) =>
      id === 'first' ? { status: 429, headers: { 'x-ogw-ratelimit-reset': '60' } } : {};
    bench.start();
    bench.call(read('first'), 'a');
    bench.run(100);
    bench.call(read('short', { ttlMs: 5_000 }), 'b');
    bench.run(100);
    expect(bench.deadLetters).toMatchObject([{ reason: 'deadline_passed' }]);
    expect(bench.upstream().of('short')).toEqual([]);
  });

  it('ends at once when no token is to be had in time', () => {
    const bench = new PipelineBench();
    bench.tokens.instead = { kind: 'unavailable', waitMs: 30_000, message: 'away' };
    bench.start();
    bench.call(read('short', { ttlMs: 5_000 }));
    bench.run(100);
    expect(bench.deadLetters).toMatchObject([{ reason: 'deadline_passed' }]);
  });

  // Past its deadline it was let through beyond the door's places and gave one back that it never had: the count
  // drifted until a release without a place stopped the worker.
  it('takes no place at the door of a hanging upstream, and gives none back', () => {
    const bench = new PipelineBench({ upstreams: { news: { concurrency: 1, script: () => ({ hang: true }) } } });
    const worker = bench.start();
    for (let i = 0; i < 8; i++) bench.call(news(`n-${i}`));
    bench.run(50);
    for (let i = 0; i < 4; i++) bench.call(news(`late-${i}`, { deadline: bench.time.wall() }));
    bench.run(50);
    expect(bench.deadLetters.map(({ history }) => history.id)).toEqual(['late-0', 'late-1', 'late-2', 'late-3']);
    bench.upstream('news').script = () => ({});
    bench.run(3_600_000);
    expect(worker.error).toBeUndefined();
    expect(bench.results).toHaveLength(8);
    expect(worker.house.destinations.get('news')?.working.inUse).toBe(0);
  });
});
