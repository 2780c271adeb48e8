import { describe, expect, it } from 'vitest';

import { CallJudge } from '../../../src/pipeline/health/call-judge.ts';
import { news } from '../../support/calls.ts';
import { type BenchOptions, PipelineBench } from '../../support/pipeline-bench.ts';

/** A worker whose calls to `news` are promised an answer within ten seconds. */
function judged(options: BenchOptions = { upstreams: { news: {}, weather: {} } }) {
  const bench = new PipelineBench(options);
  const { house } = bench.start();
  const counts = { good: 0, bad: 0 };
  const judge = new CallJudge({
    latencyMsOf: (upstream) => (upstream === 'news' ? 10_000 : undefined),
    count: (_, good) => counts[good ? 'good' : 'bad']++,
    clock: bench.time,
  });
  house.instruments.onSettled((item, ending) => judge.ended(item, ending));
  const run = (seconds: number): void => {
    for (let second = 0; second < seconds; second++) {
      bench.run(1_000);
      judge.look(house);
    }
  };
  return { bench, counts, run };
}

describe('whether an upstream keeps its promise', () => {
  it('S000-83: a live answer in time is good; of an upstream without a promise nothing counts', () => {
    const { bench, counts, run } = judged();
    for (let i = 0; i < 3; i++) bench.call(news(`n-${i}`));
    bench.call({ ...news('w'), upstream: 'weather' });
    run(2);
    expect(bench.results).toHaveLength(4);
    expect(counts).toEqual({ good: 3, bad: 0 });
  });

  it('S000-83: an outage shows while it lasts, each call once, also when it is answered at last', () => {
    const { bench, counts, run } = judged();
    bench.upstream('news').script = () => ({ status: 503 });
    for (let i = 0; i < 5; i++) bench.call(news(`n-${i}`));
    run(1);
    expect(counts).toEqual({ good: 0, bad: 0 });
    // Some have left for a delay topic by now, and are late for sure.
    run(12);
    expect(counts).toEqual({ good: 0, bad: 5 });
    bench.upstream('news').script = () => ({});
    run(7_200);
    expect(bench.results).toHaveLength(5);
    expect(counts).toEqual({ good: 0, bad: 5 });
  });

  it('a fallback is no live answer', () => {
    const fallback = { default: { body: {} }, afterAttempts: 0 };
    const { bench, counts, run } = judged({ upstreams: { news: { fallback } } });
    bench.upstream('news').script = () => ({ status: 503 });
    bench.call(news('n'));
    run(8);
    expect(bench.results).toMatchObject([{ status: 'fallback' }]);
    expect(counts).toEqual({ good: 0, bad: 1 });
  });

  it('what was wrong itself, or done before, does not count; what came too late does', () => {
    const { bench, counts, run } = judged();
    bench.upstream('news').script = ({ path }) => ({ status: path.endsWith('wrong') ? 404 : 200 });
    bench.call(news('wrong'));
    bench.call(news('same'));
    run(2);
    bench.call(news('same'));
    run(2);
    expect(counts).toEqual({ good: 1, bad: 0 });
    bench.upstream('news').script = () => ({ status: 503 });
    bench.call(news('late', { ttlMs: 3_000 }));
    run(30);
    expect(bench.deadLetters.map(({ reason }) => reason)).toContain('deadline_passed');
    expect(counts).toEqual({ good: 1, bad: 1 });
  });
});
