import { describe, expect, it } from 'vitest';

import { news } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';

// The article's flow: is the task still wanted? -> wait for its time -> is there room? -> scheduled, else degraded; not
// wanted -> end. A wait shows by its name in the record of the attempts.
describe('S000-21: the states of a call', () => {
  const withFallback = { fallback: { default: { body: ['old'] } }, breaker: { consecutiveFailures: 1 } };

  it('S000-21: wanted, due, room: it is scheduled at once', () => {
    const bench = new PipelineBench();
    bench.start();
    bench.call(news('n', { ttlMs: 5_000 }));
    bench.run(10);

    expect(bench.results).toMatchObject([{ id: 'n', status: 'ok', attempts: [{ class: 'success' }] }]);
    expect(bench.results[0]?.attempts[0]).not.toHaveProperty('waitedFor');
  });

  it('S000-21: no longer wanted: it ends as deadline_passed and is not sent', () => {
    const bench = new PipelineBench();
    bench.start();
    bench.call(news('n', { deadline: new Date(bench.time.wall() - 1).toISOString() }));
    bench.run(10);

    expect(bench.deadLetters).toMatchObject([{ reason: 'deadline_passed', attempts: 0 }]);
    expect(bench.upstream('news').attempts).toEqual([]);
  });

  it('S000-21: not due: it waits for its timer, as `retry`, then is scheduled', () => {
    const bench = new PipelineBench({ upstreams: { news: { retry: { baseMs: 1_000, jitter: { additive: 0 } } } } });
    bench.upstream('news').script = ({ nth }) => (nth === 1 ? { status: 503 } : {});
    bench.start();
    bench.call(news('n'));
    bench.run(999);
    expect(bench.upstream('news').attempts).toHaveLength(1);
    bench.run(1);

    expect(bench.results[0]?.attempts[1]).toMatchObject({ waitedFor: 'retry', waitedMs: 1_000 });
  });

  it('S000-21: not wanted any more when its timer would end: it ends before', () => {
    const bench = new PipelineBench({ upstreams: { news: { retry: { baseMs: 5_000, jitter: { additive: 0 } } } } });
    bench.upstream('news').script = () => ({ status: 503 });
    bench.start();
    bench.call(news('n', { ttlMs: 3_000 }));
    bench.run(10);

    expect(bench.deadLetters).toMatchObject([{ reason: 'deadline_passed', attempts: 1 }]);
  });

  it('S000-21: no room: it waits, and is scheduled when there is', () => {
    const bench = new PipelineBench({ upstreams: { news: { concurrency: 1 } } });
    bench.upstream('news').script = () => ({ afterMs: 1_000 });
    bench.start();
    bench.call(news('first'));
    bench.call(news('second'));
    bench.run(999);
    expect(bench.upstream('news').attempts.map(({ id }) => id)).toEqual(['first']);
    bench.run(1_001);

    expect(bench.results.map(({ id }) => id)).toEqual(['first', 'second']);
  });

  it('S000-21: no room because the breaker is open: with a fallback it is degraded at once, and says so', () => {
    const bench = new PipelineBench({ upstreams: { news: withFallback } });
    bench.upstream('news').script = () => ({ status: 503 });
    bench.start();
    bench.call(news('opens', { retry: false }));
    bench.run(5);
    bench.call(news('n'));
    bench.run(5);

    expect(bench.results.at(-1)).toMatchObject({ id: 'n', status: 'fallback', source: 'default', attempts: [] });
    expect(bench.upstream('news').of('n')).toEqual([]);
  });

  it('S000-21: no room because the breaker is open, without a fallback: it waits as `breaker` and is scheduled later', () => {
    const { breaker } = withFallback;
    const bench = new PipelineBench({ upstreams: { news: { breaker } } });
    bench.upstream('news').script = ({ id }) => (id === 'opens' ? { status: 503 } : {});
    bench.start();
    bench.call(news('opens', { retry: false }));
    bench.run(5);
    bench.call(news('n'));
    bench.run(5);
    expect(bench.upstream('news').of('n')).toEqual([]);
    bench.run(60_000);

    expect(bench.results).toMatchObject([{ id: 'n', status: 'ok', attempts: [{ waitedFor: 'breaker' }] }]);
  });
});
