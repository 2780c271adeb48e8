import { toArray } from 'rxjs';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';

import { createClient, patient } from '../../../src/adapters/kafka/client.ts';
import { serve, type Served } from '../../../src/runtime/serve.ts';
import { applyPlan, topicPlan } from '../../../src/runtime/topics.ts';
import { ConfigFiles } from '../../support/config-file.ts';
import { only } from '../../support/only.ts';
import { KafkaHarness } from '../../support/services/kafka-harness.ts';
import { describeWithServices } from '../../support/services/provided.ts';

const events = 300;

describeWithServices('workers of two profiles on one topic of events', (brokers, redis) => {
  const kafka = new KafkaHarness(brokers);
  const files = new ConfigFiles();
  const admin = createClient(kafka.client, kafka.logger, patient).admin();
  const group = `${kafka.prefix}worker`;
  const running: Served[] = [];

  beforeAll(async () => {
    const slow = files.write('export default () => new Promise((done) => setTimeout(done, 500));', 'slow.mjs');
    const { config } = files.load(`
kafka: { brokers: ${JSON.stringify(brokers)}, topicPrefix: ${kafka.prefix}, group: ${group} }
redis: { url: '${redis}', keyPrefix: '${kafka.prefix}' }
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
logLevel: silent
routes:
  - { name: slow, on: '*', handler: ${slow} }
  - { name: copy, on: '*', topic: audit }
profiles: { archive: { routes: [slow] } }
`);
    await applyPlan(kafka.admin, await topicPlan(kafka.admin), () => undefined);
    running.push(await serve(config, [], { worker: true, ingress: false }));
    running.push(await serve(config, [], { worker: true, ingress: false, profile: 'archive' }));
    await admin.connect();
  }, 60_000);
  afterAll(async () => {
    await Promise.all(running.map((served) => served.stop()));
    await admin.disconnect();
    await kafka.close();
    files.remove();
  }, 60_000);

  /** Events that a group has not committed. */
  const lagOf = async (groupId: string): Promise<number> => {
    const topic = `${kafka.prefix}events`;
    const [own] = await admin.fetchOffsets({ groupId, topics: [topic] });
    const ends = await admin.fetchTopicOffsets(topic);
    return ends.reduce((lag, { partition, high, low }) => {
      const at = Number(own?.partitions.find((one) => one.partition === partition)?.offset ?? -1);
      return lag + Number(high) - (at < 0 ? Number(low) : at);
    }, 0);
  };

  it('S004-10: are two groups: while one is slow the other has no lag', async () => {
    const event = (n: number) => ({
      ...{ id: `e-${n}`, type: 'im.message.receive_v1', app: 'cli_a', createdAtMs: 1, receivedAtMs: 1 },
      ...{ via: 'webhook', body: { event: { n } } },
    });
    const records = Array.from({ length: events }, (_, n) => ({
      key: Buffer.from(`chat-${n}`),
      value: Buffer.from(JSON.stringify(event(n))),
    }));
    await kafka.write('events', records);
    await vi.waitFor(async () => expect(await lagOf(`${group}-routes`)).toBe(0), { timeout: 60_000, interval: 200 });

    // Half a second each, one after another, is two and a half minutes.
    expect(await lagOf(`${group}-archive-routes`)).toBeGreaterThan(events / 3);
    const copies = await only(running[0]!.stores.tail('audit', 100_000).pipe(toArray()));
    expect(copies.map(({ value }) => (JSON.parse(String(value)) as { id: string }).id).sort()).toEqual(
      records.map((_, n) => `e-${n}`).sort(),
    );
    // What has begun is done, and no more is committed than that.
    await vi.waitFor(async () => expect(await lagOf(`${group}-archive-routes`)).toBeLessThan(events), 30_000);
  }, 120_000);
});
