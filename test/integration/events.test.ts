import { randomUUID } from 'node:crypto';

import { toArray } from 'rxjs';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';

import { systemClock, systemTimers } from '../../src/adapters/system/clock.ts';
import type { Event } from '../../src/model/event.ts';
import type { InRecord } from '../../src/model/record.ts';
import { serve, type Served } from '../../src/runtime/serve.ts';
import { applyPlan, topicPlan } from '../../src/runtime/topics.ts';
import { messageEvent } from '../../src/sandbox/events/bodies.ts';
import { Courier } from '../../src/sandbox/events/courier.ts';
import type { EventTarget } from '../../src/sandbox/events/seal.ts';
import type { Sandbox } from '../../src/sandbox/sandbox-api.ts';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { ConfigFiles } from '../support/config-file.ts';
import { only } from '../support/only.ts';
import { KafkaHarness } from '../support/services/kafka-harness.ts';
import { describeWithServices } from '../support/services/provided.ts';
import { seededRandom } from '../support/virtual-time.ts';

describeWithServices('events on a real Kafka and a real Redis', (brokers, redis) => {
  const kafka = new KafkaHarness(brokers);
  const files = new ConfigFiles();
  const { config } = files.load(`
kafka: { brokers: ${JSON.stringify(brokers)}, topicPrefix: ${kafka.prefix} }
redis: { url: '${redis}', keyPrefix: 'events-${randomUUID().slice(0, 8)}:' }
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
logLevel: silent
apps: [{ id: cli_a, secret: s, encryptKey: key, verificationToken: vt }]
`);
  files.remove();
  let ingresses: Served[] = [];
  let sandbox: Sandbox;
  const targetOf = (count: number): EventTarget => {
    const urls = ingresses.slice(0, count).map(({ ingressUrl }) => ingressUrl ?? '');
    return { urls, app: 'cli_a', encryptKey: 'key', verificationToken: 'vt' };
  };
  const eventsOf = async (chat: RegExp): Promise<InRecord[]> => {
    const records = await only(ingresses[0]!.stores.tail('events', 100_000).pipe(toArray()));
    return records.filter(({ key }) => chat.test(String(key)));
  };
  beforeAll(async () => {
    await applyPlan(kafka.admin, await topicPlan(kafka.admin), () => undefined);
    const start = () => serve(config, [], { worker: false, ingress: true });
    ingresses = await Promise.all([start(), start(), start(), start()]);
    sandbox = await createSandbox();
  }, 60_000);
  afterAll(async () => {
    await Promise.all([...ingresses.map((one) => one.stop()), sandbox.close()]);
    await kafka.close();
  });

  it('2,000 events over two ingresses, a fifth delivered twice, are each once on events, in the order of their chat', async () => {
    // An ingress that is not connected yet answers 503: then Feishu delivers again, here after 0.3 s and more.
    const report = await sandbox.sendEvents({
      ...{ target: targetOf(2), events: 2_000, chats: 50, duplicates: 0.2, schema: 'both', timeScale: 0.02 },
    });
    const records = await eventsOf(/^(oc_|I-)/);

    expect(report).toMatchObject({ taken: 2_000, givenUp: 0 });
    expect(report.duplicates).toBeGreaterThan(300);
    const arrived: Record<string, string[]> = {};
    for (const { key, value } of records) {
      (arrived[String(key)] ??= []).push((JSON.parse(String(value)) as Event).id);
    }
    expect(records).toHaveLength(2_000);
    expect(arrived).toEqual(report.ids);
  }, 120_000);

  it('S000-68: one event, delivered 1,000 times at once over four ingresses, is one record', async () => {
    const target = targetOf(4);
    const { body } = messageEvent(target, { n: 1, subject: 'same', wallMs: systemClock.wall(), salt: randomUUID() });
    const courier = new Courier({ clock: systemClock, timers: systemTimers, random: seededRandom(1) });
    const answers = await Promise.all(Array.from({ length: 1_000 }, () => courier.deliver(target, 'events', body)));
    // On a busy machine some may have been told to come again; in the end all hear that it is there.
    await vi.waitFor(async () => expect((await courier.deliver(target, 'events', body)).status).toBe(200), 60_000);
    await courier.close();

    expect(answers.filter(({ status }) => ![200, 503, 0].includes(status))).toEqual([]);
    expect(await eventsOf(/^same$/)).toHaveLength(1);
  }, 120_000);
});
