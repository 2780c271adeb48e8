import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, expect, it } from 'vitest';

import type { Result } from '../../../src/model/result.ts';
import { applyPlan, topicPlan } from '../../../src/runtime/topics.ts';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { WorkerProcess } from '../../chaos/world/processes.ts';
import { KafkaHarness } from '../../support/services/kafka-harness.ts';
import { describeWithServices } from '../../support/services/provided.ts';
import { SourceReader } from '../../support/source-reader.ts';

const calls = 400;
const perSecond = 5;
const tier = [{ limit: perSecond, windowMs: 1_000 }];

describeWithServices('reads of contacts at two workers, faster than their quota', (brokers, redisUrl) => {
  const kafka = new KafkaHarness(brokers);
  const folder = mkdtempSync(join(tmpdir(), 'larkspur-batching-'));
  const workers: WorkerProcess[] = [];
  afterAll(async () => {
    for (const worker of workers) await worker.kill9();
    await kafka.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('go together, never too many at once, and one result each although a worker is killed', async () => {
    const tiers = { 'contact.user.get': tier, 'contact.user.batch': tier };
    const sandbox = await createSandbox({ settings: { tierMode: 'sliding', tiers, latencyMs: 100 } });
    await applyPlan(kafka.admin, await topicPlan(kafka.admin), () => undefined);
    const config = join(folder, 'larkspur.yaml');
    writeFileSync(
      config,
      `kafka: { brokers: [${brokers.join(', ')}], topicPrefix: ${kafka.prefix}, group: ${kafka.prefix}worker, sessionTimeoutMs: 6000 }
redis: { url: ${redisUrl}, keyPrefix: '${kafka.prefix}' }
apps: [{ id: cli_a, secret: sandbox }]
worker: { claims: { leaseMs: 6000, renewMs: 2000 } }
upstreams: { feishu: { baseUrl: '${sandbox.url}', batching: true, timeouts: { attemptMs: 2000 }, limits: [{ perSecond: ${perSecond} }] } }
`,
    );
    for (const name of ['one', 'two']) workers.push(await WorkerProcess.start(config, join(folder, `${name}.log`)));
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
    await workers[0]?.kill9();
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
