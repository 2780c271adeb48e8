import { setTimeout as sleep } from 'node:timers/promises';

import { expect, it } from 'vitest';

import { describeWithServices } from '../../support/services/provided.ts';
import { WorkerBench } from '../../support/services/worker-bench.ts';

// The first is shorter than any delay topic, the second longer than the first of them.
const askedMs = { here: 8_000, outside: 14_000 };
const kinds = ['here', 'outside'] as const;
const perKind = 20;

describeWithServices('calls that wait for a retry', (brokers, redisUrl) => {
  const bench = new WorkerBench(brokers, redisUrl);
  const { kafka } = bench;
  const arrivals = new Map<string, number[]>();

  it('P10: in the heap or in a delay topic, all are tried again after a kill -9, none before its time', async () => {
    const url = await bench.upstream((request, response) => {
      const id = String(request.headers['x-request-id']);
      const times = [...(arrivals.get(id) ?? []), performance.now()];
      arrivals.set(id, times);
      const kind = id.startsWith('here') ? 'here' : 'outside';
      const first = times.length === 1;
      response.writeHead(first ? 503 : 200, first ? { 'retry-after': String(askedMs[kind] / 1_000) } : {}).end('{}');
    });
    await bench.prepare(
      `worker: { claims: { leaseMs: 14000, renewMs: 2000 } }
upstreams: { news: { baseUrl: '${url}', breaker: off } }`,
      'sessionTimeoutMs: 6000',
    );
    const worker = await bench.worker();
    const ids = kinds.flatMap((kind) => Array.from({ length: perKind }, (_, n) => `${kind}-${n}`));
    await kafka.write(
      'calls',
      ids.map((id) => ({
        key: Buffer.from(id),
        value: Buffer.from(JSON.stringify({ id, upstream: 'news', path: `/articles/${id}` })),
      })),
    );
    while (((await worker.metric('larkspur_parked_keys'))[0] ?? 0) < perKind || arrivals.size < ids.length)
      await sleep(20);
    // Half of a commit later some of what left for the delay topic is not yet counted as done.
    await sleep(100);
    await worker.kill9();
    await bench.worker();

    while (ids.some((id) => (arrivals.get(id)?.length ?? 0) < 2)) await sleep(50);
    for (const kind of kinds) {
      const waitedMs = ids
        .filter((id) => id.startsWith(kind))
        .map((id) => (arrivals.get(id)?.[1] ?? 0) - (arrivals.get(id)?.[0] ?? 0));
      expect(Math.min(...waitedMs)).toBeGreaterThanOrEqual(askedMs[kind]);
    }
    // A record that was not yet counted as done is read again: it ends with a copy of its result.
    const ends = new Map<string, Set<string>>();
    while (ends.size < ids.length) {
      for (const { value } of await kafka.read('results', ids.length)) {
        const { id, status } = JSON.parse(String(value)) as { id: string; status: string };
        ends.set(id, (ends.get(id) ?? new Set()).add(status));
      }
    }
    for (const id of ids) expect([id, ...(ends.get(id) ?? [])]).toEqual([id, 'ok']);
    expect([...arrivals.values()].filter((times) => times.length > 2)).toEqual([]);
  });
});
