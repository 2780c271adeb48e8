import { expect, it } from 'vitest';

import type { Result } from '../../../src/model/result.ts';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { describeWithServices } from '../../support/services/provided.ts';
import { WorkerBench } from '../../support/services/worker-bench.ts';
import { SourceReader } from '../../support/source-reader.ts';

const calls = 400;
const perSecond = 5;
const tier = [{ limit: perSecond, windowMs: 1_000 }];

describeWithServices('reads of contacts at two workers, faster than their quota', (brokers, redisUrl) => {
  const bench = new WorkerBench(brokers, redisUrl);
  const { kafka } = bench;

  it('go together, never too many at once, and one result each although a worker is killed', async () => {
    const tiers = { 'contact.user.get': tier, 'contact.user.batch': tier };
    const sandbox = await createSandbox({ settings: { tierMode: 'sliding', tiers, latencyMs: 100 } });
    await bench.prepare(
      `apps: [{ id: cli_a, secret: sandbox }]
worker: { claims: { leaseMs: 6000, renewMs: 2000 } }
upstreams: { feishu: { baseUrl: '${sandbox.url}', batching: true, timeouts: { attemptMs: 2000 }, limits: [{ perSecond: ${perSecond} }] } }`,
      'sessionTimeoutMs: 6000',
    );
    const first = await bench.worker();
    await bench.worker();
    await kafka.write(
      'calls',
      Array.from({ length: calls }, (_, n) => ({
        key: Buffer.from(`k-${n}`),
        value: Buffer.from(
          JSON.stringify({ id: `c-${n}`, method: 'GET', path: `/open-apis/contact/v3/users/ou_${n}` }),
        ),
      })),
    );
    const asked = () => sandbox.requests(1_000).filter(({ path }) => path.startsWith('/open-apis/contact'));
    await expect.poll(() => asked().length, { timeout: 60_000, interval: 5 }).toBeGreaterThan(perSecond);
    await first.kill9();
    const reader = new SourceReader(kafka.member(kafka.unique('reader'), ['results']));
    const written = () => new Set(reader.records.map(({ value }) => String(value)));
    await reader.until(() => written().size >= calls, 90_000);
    reader.unsubscribe();
    // What the killed one had written and not committed is written again, the same to the byte.
    const results = [...written()].map((value) => JSON.parse(value) as Result);
    expect(new Set(results.map(({ id }) => id)).size).toBe(calls);
    for (const { id, response } of results)
      expect(response?.body).toMatchObject({ code: 0, data: { user: { open_id: id.replace('c-', 'ou_') } } });
    expect(asked().length).toBeLessThan(calls / 5);
    const contacts = sandbox.stats().buckets.filter(({ bucket }) => bucket.includes('contact'));
    const together = results.filter(({ attempts }) => (attempts.at(-1)?.batchOf ?? 1) > 1);
    expect(together.length).toBeGreaterThan(calls / 2);
    for (const { refusals } of contacts) expect(refusals).toBe(0);
    await sandbox.close();
  });
});
