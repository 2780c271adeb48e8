import { expect, it } from 'vitest';

import { describeWithServices } from '../../support/services/provided.ts';
import { WorkerBench } from '../../support/services/worker-bench.ts';

const ofA = 3_000;
const ofB = 10;
const perSecond = 50;

describeWithServices('a tenant with thousands of calls in one partition', (brokers, redisUrl) => {
  const bench = new WorkerBench(brokers, redisUrl);
  const { kafka } = bench;
  const starts: { readonly id: string; readonly atMs: number }[] = [];

  const written = async (tenant: string, count: number): Promise<void> => {
    await kafka.write(
      'calls',
      Array.from({ length: count }, (_, n) => ({
        partition: 0,
        key: Buffer.from(`${tenant}-${n % 100}`),
        value: Buffer.from(JSON.stringify({ id: `${tenant}-${n}`, tenant, upstream: 'news', path: `/articles/${n}` })),
      })),
    );
  };

  it('does not hold up who stands behind it, and its own calls stay in order', async () => {
    const url = await bench.upstream((request, response) => {
      starts.push({ id: String(request.headers['x-request-id']), atMs: performance.now() });
      response.writeHead(200).end('{}');
    });
    await bench.prepare(`worker: { lanes: { whenFull: park } }
upstreams: { news: { baseUrl: '${url}', limits: [{ perSecond: ${perSecond} }] } }`);
    await written('a', ofA);
    const worker = await bench.worker();
    const outside = async (): Promise<number> => (await worker.metric('larkspur_full_lane_calls'))[0] ?? 0;
    await expect.poll(outside, { timeout: 60_000, interval: 20 }).toBeGreaterThanOrEqual(ofA / 3);
    // On a slow machine more of them stay: all that cannot be written away at once.
    expect(await worker.metric('larkspur_full_lanes')).toEqual([1]);
    const arrivedMs = performance.now();
    await written('b', ofB);
    const ofTenant = (tenant: string) => starts.filter(({ id }) => id.startsWith(`${tenant}-`));
    await expect.poll(() => ofTenant('b').length, { timeout: 60_000, interval: 20 }).toBe(ofB);
    // All of A's were written before, and take a minute.
    expect(ofTenant('a').length).toBeLessThan(ofA / 2);
    expect(arrivedMs).toBeLessThan(ofTenant('b')[0]?.atMs ?? 0);
    expect((await worker.metric('larkspur_held_total')).reduce((sum, one) => sum + one, 0)).toBeLessThan(ofA * 3);
    // Long enough for the first of them to come back.
    await expect
      .poll(() => ofTenant('a').length, { timeout: 90_000, interval: 100 })
      .toBeGreaterThanOrEqual(perSecond * 16);
    const last = new Map<number, number>();
    for (const { id } of ofTenant('a')) {
      const n = Number(id.slice(2));
      expect(n).toBeGreaterThan(last.get(n % 100) ?? -1);
      last.set(n % 100, n);
    }
    expect(new Set(starts.map(({ id }) => id)).size).toBe(starts.length);
  }, 240_000);
});
