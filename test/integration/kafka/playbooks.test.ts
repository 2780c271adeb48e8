import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterAll, beforeAll, expect, it, vi } from 'vitest';

import type { Config } from '../../../src/config/config.ts';
import { askWeek } from '../../../src/runtime/review/ask-review.ts';
import { serve, type Served } from '../../../src/runtime/serve.ts';
import { applyPlan, topicPlan } from '../../../src/runtime/topics.ts';
import { ConfigFiles } from '../../support/config-file.ts';
import { KafkaHarness } from '../../support/services/kafka-harness.ts';
import { describeWithServices } from '../../support/services/provided.ts';
import { noLogger } from '../../support/silent.ts';

describeWithServices('a playbook of two workers', (brokers, redis) => {
  const kafka = new KafkaHarness(brokers);
  const files = new ConfigFiles();
  const running: Served[] = [];
  const told: string[] = [];
  let receiver: Server;
  let config: Config;

  beforeAll(async () => {
    receiver = createServer((request, response) => {
      request.on('data', (chunk: Buffer) => told.push(chunk.toString()));
      request.on('end', () => response.end('{}'));
    });
    await new Promise<void>((listening) => receiver.listen(0, '127.0.0.1', listening));
    const { port } = receiver.address() as AddressInfo;
    // A cause that both see in the same moment, and that stays.
    const playbook = files.write(
      `
name: both
when: { metric: larkspur_redis_degraded, below: 1, forMs: 2000, clear: 1 }
then:
  - pause: news
  - alert: { http: { webhook: 'http://127.0.0.1:${port}/in' }, text: both saw it }
`,
      'both.yaml',
    );
    ({ config } = files.load(`
kafka: { brokers: ${JSON.stringify(brokers)}, topicPrefix: ${kafka.prefix}, group: ${kafka.prefix}worker }
redis: { url: '${redis}', keyPrefix: '${kafka.prefix}' }
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
logLevel: silent
upstreams: { news: { baseUrl: 'http://127.0.0.1:1' } }
playbooks: ['${playbook}']
`));
    await applyPlan(kafka.admin, await topicPlan(kafka.admin), () => undefined);
    const worker = { worker: true, ingress: false };
    running.push(...(await Promise.all([serve(config, [], worker), serve(config, [], worker)])));
  }, 60_000);
  afterAll(async () => {
    await Promise.all(running.map((served) => served.stop()));
    receiver.close();
    await kafka.close();
    files.remove();
  }, 60_000);

  it('acts in each of them, tells somebody once, and stands on audit, where the report finds it', async () => {
    const urls = running.map(({ adminUrl }) => adminUrl);
    const week = () => askWeek({ config, log: noLogger, urls }, 7, 'none.jsonl');
    await vi.waitFor(
      async () => expect((await week()).playbooks).toMatchObject([{ name: 'both', ran: 2, failed: 0 }]),
      {
        ...{ timeout: 30_000, interval: 500 },
      },
    );
    expect(told).toHaveLength(1);
    expect(told[0]).toContain('both saw it');
    expect(running.map(({ worker }) => worker?.house.pauses.heldBy('news'))).toEqual([
      ['playbook both'],
      ['playbook both'],
    ]);
    const reply = await fetch(`${urls[1] ?? ''}/admin/audit`);
    const { entries } = (await reply.json()) as { entries: { to: { steps: { outcome: string }[] } }[] };
    const outcomes = entries.map(({ to }) => to.steps.map(({ outcome }) => outcome).join());
    expect(outcomes.sort()).toEqual(['done,another worker', 'done,done']);
  }, 60_000);
});
