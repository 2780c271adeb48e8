import { describe, expect, it } from 'vitest';

import { news, react, read } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';
import { seededRandom } from '../../support/virtual-time.ts';

const gaps = (times: readonly number[]): number[] => times.slice(1).map((atMs, i) => atMs - (times[i] ?? 0));
const noJitter = { jitter: { additive: 0 }, floorMs: 0 } as const;

describe('order per key', () => {
  it('the first call of a key that retries holds its key, other keys go on', () => {
    const bench = new PipelineBench();
    bench.upstream('news').script = ({ id, nth }) => (id === 'a1' && nth < 3 ? { status: 503 } : {});
    bench.start();
    for (const id of ['a1', 'a2', 'a3']) bench.call(news(id), 'a');
    bench.call(news('b1'), 'b');
    bench.run(60_000);
    const order = bench.results.map(({ id }) => id);
    expect(order[0]).toBe('b1');
    expect(order.filter((id) => id.startsWith('a'))).toEqual(['a1', 'a2', 'a3']);
  });

  it('P21: what follows a call that was retried starts with its own count at 0', () => {
    const bench = new PipelineBench();
    bench.upstream('news').script = ({ id, nth }) => (id === 'a1' && nth <= 3 ? { status: 503 } : {});
    bench.start();
    bench.call(news('a1'), 'a');
    bench.call(news('a2'), 'a');
    bench.run(60_000);
    const counts = bench.upstream('news').attempts.map(({ id, headers }) => [id, headers['x-retry-count']]);
    expect(counts).toEqual([
      ['a1', '0'],
      ['a1', '1'],
      ['a1', '2'],
      ['a1', '3'],
      ['a2', '0'],
    ]);
  });

  it('calls without a key wait for nobody', () => {
    const bench = new PipelineBench();
    bench.upstream('news').script = ({ id }) => (id === 'slow' ? { afterMs: 5_000 } : {});
    bench.start();
    bench.call(news('slow'));
    bench.call(news('quick'));
    bench.run(100);
    expect(bench.results.map(({ id }) => id)).toEqual(['quick']);
  });
});

describe('the ladder of retries', () => {
  it('S000-10: maxAttempts 3 makes exactly three attempts, then ends', () => {
    const bench = new PipelineBench({ upstreams: { news: { retry: { maxAttempts: 3 } } } });
    bench.upstream('news').script = () => ({ status: 503 });
    bench.start();
    bench.call(news('n'));
    bench.run(3_600_000);
    expect(bench.upstream('news').attempts).toHaveLength(3);
    expect(bench.deadLetters).toMatchObject([{ reason: 'attempts_exhausted', attempts: 3 }]);
  });

  it.each([429, 502, 503, 504])('S000-11: a %i is repeated', (status) => {
    const bench = new PipelineBench();
    bench.upstream('news').script = ({ nth }) => (nth === 1 ? { status } : {});
    bench.start();
    bench.call(news('n'));
    bench.run(60_000);
    expect(bench.results).toMatchObject([{ status: 'ok' }]);
    expect(bench.upstream('news').attempts).toHaveLength(2);
  });

  it.each([400, 401, 403, 404, 405, 410, 422])('S000-11: a %i fails at once', (status) => {
    const bench = new PipelineBench();
    bench.upstream('news').script = () => ({ status });
    bench.start();
    bench.call(news('n'));
    bench.run(60_000);
    expect(bench.deadLetters).toMatchObject([{ reason: 'permanent', class: 'permanent', attempts: 1 }]);
  });

  it('S000-12: refused twice, then ok, is a result with three attempts', () => {
    const bench = new PipelineBench();
    bench.upstream().script = ({ nth }) => (nth < 3 ? { fail: { how: 'refused', sent: false } } : {});
    bench.start();
    bench.call(react('n'));
    bench.run(60_000);
    expect(bench.results[0]?.attempts.map((attempt) => attempt.class)).toEqual(['retryable', 'retryable', 'success']);
    expect(bench.results[0]?.attempts[1]).toMatchObject({ waitedFor: 'retry' });
  });

  it('S000-13: an attempt without an answer ends at its timeout, and its slot is free at that moment', () => {
    const bench = new PipelineBench({ upstreams: { news: { attemptMs: 5_000, retry: 'off' } } });
    bench.upstream('news').script = () => ({ hang: true });
    const { house } = bench.start();
    bench.call(news('n'));
    bench.run(4_999);
    expect(house.destinations.get('news')?.slots.inUse).toBe(1);
    bench.run(1);
    expect(house.destinations.get('news')?.slots.inUse).toBe(0);
    expect(bench.deadLetters[0]?.history.attempts[0]?.ms).toBe(5_000);
  });

  it('S000-60: without jitter the waits are 1, 2 and 4 s, then it ends', () => {
    const retry = { maxAttempts: 4, attemptsInARow: 5, baseMs: 1_000, ...noJitter };
    const bench = new PipelineBench({ upstreams: { news: { retry } } });
    bench.upstream('news').script = () => ({ status: 503 });
    bench.start();
    bench.call(news('n'));
    bench.run(60_000);
    expect(gaps(bench.upstream('news').attempts.map(({ atMs }) => atMs))).toEqual([1_000, 2_000, 4_000]);
    expect(bench.deadLetters).toMatchObject([{ reason: 'attempts_exhausted', attempts: 4 }]);
  });

  it('S000-63: `retry: false` makes one attempt, which the breaker counts all the same', () => {
    const bench = new PipelineBench({ upstreams: { news: { breaker: { consecutiveFailures: 3 } } } });
    bench.upstream('news').script = () => ({ status: 503 });
    const { house } = bench.start();
    for (let i = 0; i < 3; i++) bench.call(news(`n-${i}`, { retry: false }), 'k');
    bench.run(500);
    expect(bench.deadLetters.map(({ reason, attempts }) => [reason, attempts])).toEqual([
      ['attempts_exhausted', 1],
      ['attempts_exhausted', 1],
      ['attempts_exhausted', 1],
    ]);
    expect(house.destinations.get('news')?.breakers?.get('news.internal/news').snapshot(500).state).toBe('open');
  });

  it('S000-63: `retry: false` does not skip the fallback', () => {
    const bench = new PipelineBench({ upstreams: { news: { fallback: { default: { body: [] } } } } });
    bench.upstream('news').script = () => ({ status: 503 });
    bench.start();
    bench.call(news('n', { retry: false }));
    bench.run(1_000);
    expect(bench.results).toMatchObject([{ status: 'fallback', source: 'default' }]);
    expect(bench.upstream('news').attempts).toHaveLength(1);
  });

  it('S000-76: a 503 with an empty body is retryable', () => {
    const bench = new PipelineBench();
    bench.upstream().script = ({ nth }) => (nth === 1 ? { status: 503, body: Buffer.alloc(0) } : {});
    bench.start();
    bench.call(read('n'));
    bench.run(60_000);
    expect(bench.results[0]?.attempts[0]).toMatchObject({ class: 'retryable', status: 503 });
  });

  it('S000-75: with a deadline of 100 ms for each attempt retries follow and the total grows', () => {
    const bench = new PipelineBench({ upstreams: { news: { attemptMs: 100 } } });
    bench.upstream('news').script = ({ nth }) => ({ afterMs: nth < 4 ? 150 : 50 });
    bench.start();
    bench.call(news('n'));
    bench.run(60_000);
    const [result] = bench.results;
    expect(result?.attempts.map((attempt) => attempt.class)).toEqual([
      'ambiguous',
      'ambiguous',
      'ambiguous',
      'success',
    ]);
    expect(result?.timing.inFlightMs).toBe(350);
    expect(result?.timing.totalMs).toBeGreaterThan(350);
  });

  it('S000-23: a thousand calls that fail together do not come back together', () => {
    const upstream = {
      concurrency: 1_000,
      breaker: 'off',
      retry: { baseMs: 2_000, budget: { start: 1e4, perSuccess: 0, cap: 1e4 } },
    };
    const bench = new PipelineBench({
      upstreams: { news: upstream as never },
      processSlots: 1_000,
      random: seededRandom(7),
    });
    bench.upstream('news').script = ({ nth }) => ({ status: nth === 1 ? 503 : 200 });
    bench.start();
    for (let i = 0; i < 1_000; i++) bench.call(news(`n-${i}`));
    bench.run(60_000);
    const bins = new Map<number, number>();
    for (const { atMs, nth } of bench.upstream('news').attempts) {
      if (nth === 2) bins.set(Math.floor(atMs / 100), (bins.get(Math.floor(atMs / 100)) ?? 0) + 1);
    }
    expect([...bins.values()].reduce((sum, n) => sum + n, 0)).toBe(1_000);
    expect(Math.max(...bins.values())).toBeLessThan(200);
  });

  it('is held longer and longer once its attempts in a row are used up, then ends', () => {
    const bench = new PipelineBench({ upstreams: { news: { breaker: 'off', retry: { maxAttempts: 9 } } } });
    bench.upstream('news').script = () => ({ status: 503 });
    bench.start();
    bench.call(news('n'));
    bench.run(3_600_000);
    const waits = gaps(bench.upstream('news').attempts.map(({ atMs }) => atMs));
    expect(waits).toHaveLength(8);
    expect(waits[3]).toBeGreaterThanOrEqual(8_000);
    expect(waits[3]).toBeLessThanOrEqual(10_000);
    expect(waits[7]).toBeGreaterThanOrEqual(48_000);
    expect(waits[7]).toBeLessThanOrEqual(60_000);
  });
});
