import { describe, expect, it } from 'vitest';

import { news } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';

describe('connection errors', () => {
  it('S000-12: always refused waits for longer and longer, with its attempts bounded, and ends by policy', () => {
    const bench = new PipelineBench({ upstreams: { news: { breaker: 'off', retry: { maxAttempts: 6 } } } });
    bench.upstream('news').script = () => ({ fail: { how: 'refused', sent: false } });
    bench.start();
    bench.call(news('n'));
    bench.run(10_000);
    // While it waits it has no end: an outage fills no dead letters.
    expect([bench.deadLetters.length, bench.lag]).toEqual([0, 1]);
    bench.run(7_200_000);

    expect(bench.upstream('news').attempts).toHaveLength(6);
    expect(bench.deadLetters).toMatchObject([{ reason: 'attempts_exhausted', class: 'retryable', attempts: 6 }]);
  });

  it('S002-05: a 500, a time-out and a refused connection are told apart in result and log, with the name of the API', () => {
    const bench = new PipelineBench({ upstreams: { news: { attemptMs: 3_000 } } });
    bench.upstream('news').script = ({ nth }) => {
      if (nth === 1) return { status: 500 };
      if (nth === 2) return { hang: true };
      if (nth === 3) return { fail: { how: 'refused', sent: false } };
      return {};
    };
    bench.start();
    bench.call(news('n'));
    bench.run(120_000);

    expect(bench.results[0]?.attempts).toMatchObject([
      { class: 'retryable', status: 500, message: 'HTTP 500', ms: 0 },
      { class: 'ambiguous', message: 'no answer in time', ms: 3_000 },
      { class: 'retryable', message: 'refused', ms: 0 },
      { class: 'success' },
    ]);
    const logged = bench.log.lines.filter(({ message }) => message === 'an attempt failed').map(({ fields }) => fields);
    expect(logged).toMatchObject(
      ['server_error', 'timeout', 'refused'].map((errorType) => ({ upstream: 'news', api: 'GET news', errorType })),
    );
  });

  it('S002-04: a hanging upstream ends every attempt at its 3 s', () => {
    const bench = new PipelineBench({ upstreams: { news: { attemptMs: 3_000, retry: { maxAttempts: 3 } } } });
    bench.upstream('news').script = () => ({ hang: true });
    bench.start();
    bench.call(news('n'));
    bench.run(7_200_000);

    expect(bench.deadLetters[0]?.history.attempts.map(({ ms }) => ms)).toEqual([3_000, 3_000, 3_000]);
  });
});
