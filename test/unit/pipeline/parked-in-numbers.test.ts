import { expect, it } from 'vitest';

import { news } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';
import { seededRandom } from '../../support/virtual-time.ts';

const keys = 2_500;
const longestWaitS = 5_400;

it('parks thousands of calls over all four delay topics: after restarts each comes within a second of its time, none before, in order per key', () => {
  const random = seededRandom(11);
  const bench = new PipelineBench({
    partitions: 4,
    random: { next: () => 0 },
    upstreams: { news: { breaker: 'off', concurrency: 4_096, bucketConcurrency: 4_096 } },
  });
  const waitS = Array.from({ length: keys }, () => 10 + Math.floor(random.next() * longestWaitS));
  bench.upstream('news').script = ({ id, nth }) =>
    id.startsWith('first') && nth === 1
      ? { status: 503, headers: { 'retry-after': String(waitS[Number(id.slice(6))]) } }
      : {};
  let worker = bench.start();
  for (const name of ['first', 'next', 'last']) {
    for (let n = 0; n < keys; n++) bench.call(news(`${name}-${n}`), `k-${n}`);
  }
  for (const ms of [5_000, 40_000, 200_000, 900_000, 2_400_000]) {
    bench.run(ms);
    worker.crash();
    worker = bench.start();
  }
  bench.run(longestWaitS * 1_000);

  const starts = new Map<string, number[]>();
  const order = new Map<string, string[]>();
  for (const { id, atMs } of bench.upstream('news').attempts) {
    const [name = '', key = ''] = id.split('-');
    starts.set(id, [...(starts.get(id) ?? []), atMs]);
    order.set(key, [...(order.get(key) ?? []), name]);
  }
  const lateMs = waitS.map((seconds, n) => {
    const [refused = 0, again = Infinity] = starts.get(`first-${n}`) ?? [];
    return again - refused - seconds * 1_000;
  });
  expect(lateMs.filter((ms) => ms < 0)).toEqual([]);
  expect(lateMs.filter((ms) => ms > 1_000)).toEqual([]);
  expect([...order.values()].filter((names) => names.join() !== 'first,first,next,last')).toEqual([]);
  expect(order.size).toBe(keys);
  for (const topic of ['retry.10s', 'retry.1m', 'retry.10m', 'retry.1h']) {
    expect(bench.records(topic).length).toBeGreaterThan(0);
  }
  // A crash repeats results that were not committed yet, never a call.
  expect(new Set(bench.results.map(({ id }) => id)).size).toBe(3 * keys);
  expect(bench.results.filter(({ status }) => status !== 'ok')).toEqual([]);
  expect(bench.deadLetters).toEqual([]);
  expect(bench.lag).toBe(0);
});
