import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, it } from 'vitest';

import { createClient, patient } from '../../src/adapters/kafka/client.ts';
import { serve, type Served } from '../../src/runtime/serve.ts';
import { applyPlan, topicPlan } from '../../src/runtime/topics.ts';
import type { Sandbox } from '../../src/sandbox/sandbox-api.ts';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { send } from '../support/calls.ts';
import { ConfigFiles } from '../support/config-file.ts';
import { KafkaHarness } from '../support/services/kafka-harness.ts';
import { describeWithServices } from '../support/services/provided.ts';
import { noLogger } from '../support/silent.ts';

const root = join(import.meta.dirname, '../..');
const laneItems = 40;
const patience = { timeout: 40_000, interval: 500 };

/** Fits a text in which all of these stand. */
function all(...words: readonly (string | RegExp)[]): RegExp {
  const sources = words.map((word) =>
    typeof word === 'string' ? word.replaceAll(/[^\w\s]/g, String.raw`\$&`) : word.source,
  );
  return new RegExp(sources.map((source) => `(?=[^]*${source})`).join(''));
}

/**
 * Somebody who knows nothing of the house asks `larkspur explain` why a record has no answer: each problem is planted in a
 * whole worker on real Kafka and Redis, and what the command prints must name it and say what can be done.
 */
describeWithServices('eight planted problems, and what explain says of each', (brokers, redisUrl) => {
  const kafka = new KafkaHarness(brokers);
  const files = new ConfigFiles();
  let sandbox: Sandbox;
  let served: Served;
  let file = '';

  // `weather` is broken, `stock` hangs, `news` tells the first call of a key to come back in five minutes.
  const upstream = createServer((request, response) => {
    const path = request.url ?? '';
    if (path.startsWith('/hang')) return;
    const status = path.startsWith('/broken') || path.startsWith('/later') ? 503 : 200;
    response.writeHead(status, path.startsWith('/later') ? { 'retry-after': '300' } : {}).end('{}');
  });

  const produce = (calls: readonly (readonly [call: object, key: string | null])[]): Promise<void> =>
    kafka.write(
      'calls',
      calls.map(([call, key]) => ({
        key: key === null ? null : Buffer.from(key),
        value: Buffer.from(JSON.stringify(call)),
      })),
    );

  /** What the command prints for a record. */
  async function explain(ref: string): Promise<string> {
    const args = ['explain', ref, '--config', file, '--url', served.adminUrl];
    const child = spawn(process.execPath, ['--import', 'tsx', 'src/cli/main.ts', ...args], { cwd: root });
    let out = '';
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (out += chunk.toString()));
    await once(child, 'close');
    return out;
  }
  const told = (ref: string) => () => explain(ref);

  beforeAll(async () => {
    upstream.listen(0, '127.0.0.1');
    await once(upstream, 'listening');
    const baseUrl = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
    sandbox = await createSandbox({ settings: { tierMode: 'off', chatPerSecond: 0 } });
    file = files.write(`
kafka: { brokers: [${brokers.join(', ')}], topicPrefix: '${kafka.prefix}', group: '${kafka.prefix}worker', sessionTimeoutMs: 6000 }
redis: { url: '${redisUrl}', keyPrefix: '${kafka.prefix}' }
logLevel: silent
drainMs: 1000
listen: { admin: '127.0.0.1:0' }
apps: [{ id: cli_a, secret: sandbox }]
worker: { lanes: { items: ${laneItems} } }
upstreams:
  feishu: { baseUrl: '${sandbox.url}' }
  limited: { baseUrl: '${baseUrl}', limits: [{ perMinute: 1 }] }
  weather: { baseUrl: '${baseUrl}', breaker: { consecutiveFailures: 2, minCalls: 2 } }
  news: { baseUrl: '${baseUrl}' }
  stock: { baseUrl: '${baseUrl}', concurrency: 2, timeouts: { attemptMs: 60000, totalMs: 60000 } }
`);
    await applyPlan(kafka.admin, await topicPlan(kafka.admin), () => undefined);
    served = await serve(files.loadFile(file).config, [], { worker: true, ingress: false });
  }, 120_000);
  afterAll(async () => {
    await served.stop();
    await sandbox.close();
    upstream.closeAllConnections();
    upstream.close();
    await kafka.close();
    files.remove();
  }, 60_000);

  it('a used-up quota', async () => {
    await produce([1, 2].map((n) => [{ id: `quota-${n}`, upstream: 'limited', path: '/x' }, 'quota']));
    await expect
      .poll(told('quota-2'), patience)
      .toMatch(all(/waits for quota .*until 20/, 'as many calls of this API have started', '1 in 60000 ms'));
  }, 60_000);

  it('the limit of one chat', async () => {
    const path = '/open-apis/im/v1/messages';
    sandbox.setFaults([{ kind: 'code', code: 230_020, msg: 'too fast', rate: 1, match: { path } }]);
    await produce([[send('chat-1', 'oc_full'), 'chat']]);
    await expect
      .poll(told('chat-1'), patience)
      .toMatch(all(/waits for receiver-limit .*oc_full.*until 20/, 'this receiver (chat or user)'));
    sandbox.setFaults([]);
  }, 60_000);

  it('an open breaker', async () => {
    await produce([1, 2, 3].map((n) => [{ id: `breaker-${n}`, upstream: 'weather', path: '/broken' }, `b-${n}`]));
    await expect
      .poll(told('breaker-3'), patience)
      .toMatch(all(/(waits for|behind it) +breaker \(\S*weather/, 'its breaker is open', '/admin/api-health'));
  }, 60_000);

  it('a key that is parked behind a call outside of the workers', async () => {
    await produce([[{ id: 'parked-1', upstream: 'news', path: '/later' }, 'parked']]);
    await expect.poll(told('parked-1'), patience).toMatch(all(/waits for delay \(retry\./, '503'));
    await produce([[{ id: 'parked-2', upstream: 'news', path: '/fine' }, 'parked']]);
    await expect
      .poll(told('parked-2'), patience)
      .toMatch(
        all(
          /waits for order \(parked\).*until 20/,
          /an earlier call of the key parked waits outside of the workers and must end first: calls\/\d+\/\d+/,
          /behind it {1,}delay \(retry\..*until 20/,
        ),
      );
  }, 60_000);

  it('a missing token scope', async () => {
    const msg = 'Access denied. One of the following scopes is required: [im:message]';
    sandbox.setFaults([{ kind: 'code', code: 99_991_672, msg, rate: 1, match: { path: '/open-apis/im/v1/messages' } }]);
    await produce([[send('scope-1', 'oc_2'), 'scope']]);
    await expect
      .poll(told('scope-1'), patience)
      .toMatch(
        all(
          'dead letter (permanent)',
          '[im:message]',
          'lacks a permission scope',
          'Add the scope named in the answer in the developer console',
        ),
      );
    sandbox.setFaults([]);
  }, 60_000);

  it('an upstream that hangs', async () => {
    const hang = (n: number) => [{ id: `hang-${n}`, upstream: 'stock', path: '/hang' }, `h-${n}`] as const;
    // From other partitions, so their order says nothing of who takes the places.
    await produce([1, 2].map(hang));
    for (const n of [1, 2]) await expect.poll(told(`hang-${n}`), patience).toMatch(all('has not answered yet'));
    await produce([hang(3)]);
    await expect
      .poll(told('hang-3'), patience)
      .toMatch(all('waits for slot (stock)', '2 of 2 attempts at stock are under way', 'has not answered yet'));
  }, 60_000);

  it('a topic of Kafka that is not there', async () => {
    const admin = createClient(kafka.client, noLogger, patient).admin();
    await admin.connect();
    await admin.deleteTopics({ topics: [`${kafka.prefix}results`] });
    await admin.disconnect();
    await produce([[send('topic-1', 'oc_3'), 'topic']]);
    await expect
      .poll(told('topic-1'), patience)
      .toMatch(all(/waits for topic \(results\), since 20/, 'does not host', 'larkspur topics apply'));
    await applyPlan(kafka.admin, await topicPlan(kafka.admin), () => undefined);
    await expect.poll(told('topic-1'), patience).toMatch(all('It has ended as ok'));
  }, 120_000);

  it('full lanes', async () => {
    const many = Array.from({ length: 4 * laneItems }, (_, n) => `full-${n}`);
    await produce(many.map((id) => [{ id, upstream: 'stock', path: '/hang' }, 'full']));
    await expect
      .poll(told(many.at(-1)!), patience)
      .toMatch(
        all(
          'waits for buffer (calls/',
          'the lanes are full with',
          /records in the lanes wait because 2 of 2 attempts at stock/,
        ),
      );
  }, 60_000);
});
