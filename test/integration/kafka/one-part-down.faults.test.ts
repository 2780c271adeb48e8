import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterAll, beforeAll, expect, it, vi } from 'vitest';

import { serve, type Served } from '../../../src/runtime/serve.ts';
import { applyPlan, topicPlan } from '../../../src/runtime/topics.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox-api.ts';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { ConfigFiles } from '../../support/config-file.ts';
import { ScriptedMysql } from '../../support/scripted-mysql.ts';
import { KafkaHarness } from '../../support/services/kafka-harness.ts';
import { describeWithServices } from '../../support/services/provided.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';

const waiting = { timeout: 30_000, interval: 50 };
const body = `{"receive_id": event.message.chat_id, "msg_type": "text", "content": $string({"text": "hello"})}`;

describeWithServices('a worker of which one part after another is down', (brokers, redisUrl) => {
  const kafka = new KafkaHarness(brokers);
  const files = new ConfigFiles();
  let mysql: ScriptedMysql;
  let redis: TcpProxy;
  let sandbox: Sandbox;
  let news: Server;
  let newsStatus = 200;
  let served: Served;
  let sent = 0;

  beforeAll(async () => {
    mysql = await ScriptedMysql.start();
    const call = { path: '/open-apis/im/v1/messages', query: { receive_id_type: 'chat_id' }, body };
    mysql.rows = [{ name: 'hello', position: 1, rule: JSON.stringify({ on: 'im.message.receive_v1', call }) }];
    redis = await TcpProxy.open();
    redis.to(Number(new URL(redisUrl).port));
    sandbox = await createSandbox({ settings: { tierMode: 'off', chatPerSecond: 0 } });
    news = createServer((_, response) => response.writeHead(newsStatus).end('{}'));
    await new Promise<void>((listening) => news.listen(0, '127.0.0.1', listening));
    const newsUrl = `http://127.0.0.1:${(news.address() as AddressInfo).port}`;
    const { config } = files.load(`
kafka: { brokers: ${JSON.stringify(brokers)}, topicPrefix: ${kafka.prefix}, group: ${kafka.prefix}worker }
redis: { url: 'redis://127.0.0.1:${redis.port}', keyPrefix: '${kafka.prefix}' }
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
logLevel: silent
apps: [{ id: cli_a, secret: s }]
upstreams:
  feishu: { baseUrl: '${sandbox.url}' }
  news: { baseUrl: '${newsUrl}', health: { intervalMs: 200 } }
routeTable: { mysql: '${mysql.url}', exportMs: 1000 }
`);
    await applyPlan(kafka.admin, await topicPlan(kafka.admin), () => undefined);
    served = await serve(config, [], { worker: true, ingress: false });
  }, 60_000);
  afterAll(async () => {
    await served.stop();
    await Promise.all([mysql.stop().catch(() => undefined), sandbox.close(), kafka.close(), redis.close()]);
    news.close();
    files.remove();
  }, 60_000);

  const get = async (path: string): Promise<unknown> => (await fetch(`${served.adminUrl}${path}`)).json();
  const degraded = async (): Promise<string> =>
    ((await get('/admin/status')) as { rules: { degraded: readonly string[] } }).rules.degraded.join('; ');
  const ready = async (): Promise<string> => JSON.stringify(await get('/readyz'));
  const healthOf = async (name: string): Promise<string | undefined> =>
    ((await get('/admin/api-health')) as { upstreams: { name: string; state: string }[] }).upstreams.find(
      (one) => one.name === name,
    )?.state;
  /** Events come, and each has its effect. */
  const goesOn = async (events = 10): Promise<void> => {
    const records = Array.from({ length: events }, () => {
      const n = sent++;
      const message = { chat_id: `oc_${n}`, message_id: `om_${n}`, message_type: 'text' };
      const head = { id: `e-${n}`, type: 'im.message.receive_v1', app: 'cli_a', createdAtMs: 1, receivedAtMs: 1 };
      const value = { ...head, via: 'webhook', body: { header: {}, event: { message } } };
      return { key: Buffer.from(`oc_${n}`), value: Buffer.from(JSON.stringify(value)) };
    });
    await kafka.write('events', records);
    await vi.waitFor(() => expect(sandbox.effects().effects).toBe(sent), waiting);
  };

  it('S004-17: goes on without the source of its rules, without Redis, without an upstream, and shows what it has to do without', async () => {
    await vi.waitFor(async () => expect(await ready()).toContain('"status":"ready"'), waiting);
    // All partitions: who waits outside of one is read from Redis with its first call.
    await goesOn(150);
    expect(await degraded()).toBe('');

    await mysql.stop();
    await vi.waitFor(async () => expect(await degraded()).toContain('the source of the rules cannot be read'), waiting);
    await goesOn();
    expect(await ready()).toContain('"status":"ready"');

    redis.break();
    await vi.waitFor(
      async () => expect(await degraded()).toContain('the rules that all share cannot be read'),
      waiting,
    );
    await goesOn();
    expect(await ready()).toContain('Redis does not answer');

    redis.heal();
    await vi.waitFor(async () => expect(await degraded()).not.toContain('that all share'), waiting);
    newsStatus = 503;
    const call = { id: 'n-1', upstream: 'news', method: 'GET', path: '/latest', ttlMs: 2_000 };
    await kafka.write('calls', [{ value: Buffer.from(JSON.stringify(call)) }]);
    await vi.waitFor(async () => expect(await healthOf('news')).not.toBe('healthy'), waiting);
    await goesOn();
    expect(await healthOf('feishu')).toBe('healthy');
    expect(await ready()).toContain('"status":"ready"');
  }, 180_000);
});
