import { describe, expect, it } from 'vitest';

import { explainRecord } from '../../../src/pipeline/explain/explain-record.ts';
import { readRef } from '../../../src/pipeline/explain/find-record.ts';
import { news } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';

describe('a paused upstream', () => {
  it('gets no call and gives no fallback, others go on, and what waited goes when it is let go', () => {
    const fallback = { default: { body: {} }, afterAttempts: 0 };
    const bench = new PipelineBench({ upstreams: { news: { fallback }, weather: {} } });
    const { house } = bench.start();
    house.pauses.pause('news', 'ana');
    for (let i = 0; i < 5; i++) bench.call(news(`n-${i}`));
    bench.call({ ...news('w'), upstream: 'weather' });
    bench.run(3_600_000);
    expect(explainRecord(house, readRef('n-1'), 'n-1')?.waits[0]).toMatchObject({
      ...{ what: 'paused', on: 'news', why: 'news is paused by ana' },
    });
    expect(bench.upstream('news').attempts).toEqual([]);
    expect(bench.results.map(({ id }) => id)).toEqual(['w']);

    house.pauses.resume('news');
    bench.run(100);
    expect(bench.results).toHaveLength(6);
  });

  it('goes on when the last of those who hold it lets go', () => {
    const bench = new PipelineBench({ upstreams: { news: {} } });
    const { house } = bench.start();
    house.pauses.pause('news', 'ana');
    house.pauses.pause('news', 'playbook x');
    bench.call(news('n'));
    house.pauses.resume('news', 'playbook x');
    bench.run(1_000);
    expect([house.pauses.heldBy('news'), bench.results]).toEqual([['ana'], []]);
    house.pauses.resume('news', 'ana');
    bench.run(100);
    expect(bench.results).toHaveLength(1);
  });

  it('lets a call whose time is over end', () => {
    const bench = new PipelineBench({ upstreams: { news: {} } });
    const { house } = bench.start();
    house.pauses.pause('news', 'ana');
    bench.call(news('n', { ttlMs: 5_000 }));
    bench.run(10_000);
    expect(bench.deadLetters).toMatchObject([{ reason: 'deadline_passed' }]);
  });
});
