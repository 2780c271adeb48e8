import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import { afterAll, expect, it } from 'vitest';

import { createMetrics } from '../../../src/adapters/prometheus/metrics.ts';
import { systemClock, systemRandom, systemTimers } from '../../../src/adapters/system/clock.ts';
import { compile } from '../../../src/config/compile.ts';
import { complete } from '../../../src/config/complete.ts';
import { delayTopics } from '../../../src/model/delay-topics.ts';
import { openStores } from '../../../src/runtime/open-stores.ts';
import { type RunningWorker, startWorker } from '../../../src/runtime/start-worker.ts';
import { applyPlan, topicPlan } from '../../../src/runtime/topics.ts';
import { KafkaHarness } from '../../support/services/kafka-harness.ts';
import { describeWithServices } from '../../support/services/provided.ts';
import { noLogger } from '../../support/silent.ts';

const askedMs = 21_000;

interface Arrival {
  readonly id: string;
  readonly atMs: number;
}

describeWithServices('calls that wait outside', (brokers, redisUrl) => {
  const kafka = new KafkaHarness(brokers);
  const arrivals: Arrival[] = [];
  const refused = new Set<string>();
  // The first call of each key is told to come back later, once.
  const upstream = createServer((request, response) => {
    const id = String(request.headers['x-request-id']);
    arrivals.push({ id, atMs: performance.now() });
    const refuses = id.endsWith('-0') && !refused.has(id);
    refused.add(id);
    response.writeHead(refuses ? 503 : 200, refuses ? { 'retry-after': String(askedMs / 1_000) } : {}).end('{}');
  });
  const closing: (() => Promise<unknown>)[] = [() => kafka.close()];
  afterAll(async () => {
    for (const close of closing.reverse()) await close();
    upstream.close();
  });

  const idsOf = (key: string) => arrivals.filter(({ id }) => id.startsWith(`${key}-`)).map(({ id }) => id);

  it('come back on time to another worker than they left from, each key in its order, others at once', async () => {
    upstream.listen(0, '127.0.0.1');
    await once(upstream, 'listening');
    await applyPlan(kafka.admin, await topicPlan(kafka.admin), () => undefined);
    const { value } = complete(
      {
        kafka: {
          brokers: [...brokers],
          topicPrefix: kafka.prefix,
          group: `${kafka.prefix}worker`,
          sessionTimeoutMs: 6_000,
        },
        redis: { url: redisUrl, keyPrefix: kafka.prefix },
        upstreams: { news: { baseUrl: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}` } },
      },
      () => 'test',
    );
    const config = compile(value, new Map());
    const start = (): RunningWorker & { readonly end: () => Promise<void> } => {
      const parts = { clock: systemClock, timers: systemTimers, random: systemRandom, log: noLogger };
      const world = { ...parts, metrics: createMetrics({ processMetrics: false }) };
      const stores = openStores(config, world);
      const running = startWorker(config, stores, world, (error) => {
        throw error;
      });
      let ended: Promise<void> | undefined;
      const end = (): Promise<void> => (ended ??= running.stop().then(() => stores.close()));
      closing.push(end);
      return { ...running, end };
    };
    const call = (id: string, key: string | null) => ({
      key: key === null ? null : Buffer.from(key),
      value: Buffer.from(JSON.stringify({ id, upstream: 'news', path: `/articles/${id}` })),
    });
    const until = async (holds: () => boolean): Promise<void> => {
      while (!holds()) await sleep(20);
    };
    const keys = Array.from({ length: 12 }, (_, n) => `k${n}`);

    const first = start();
    const round = (n: number) => keys.map((key) => call(`${key}-${n}`, key));
    await kafka.write('calls', [...round(0), ...round(1)]);
    await until(() => refused.size === keys.length && first.house.lines.keys === keys.length);
    await kafka.write('calls', [...round(2), ...Array.from({ length: 30 }, (_, n) => call(`free-${n + 1}`, null))]);
    await until(() => idsOf('free').length === 30);
    // Nobody has passed the call that waits outside.
    expect(arrivals.filter(({ id }) => /^k\d+-[12]$/.test(id))).toEqual([]);
    await first.end();

    const second = start();
    await kafka.write('calls', round(3));
    await until(() => keys.every((key) => idsOf(key).length === 5));
    for (const key of keys) expect(idsOf(key)).toEqual([0, 0, 1, 2, 3].map((n) => `${key}-${n}`));
    const lateMs = keys.map((key) => {
      const [refusedAt = 0, cameBack = 0] = arrivals.filter(({ id }) => id === `${key}-0`).map(({ atMs }) => atMs);
      return cameBack - refusedAt - askedMs;
    });
    // None before its time; how late the latest was is a figure, not a promise of a busy machine.
    expect(Math.min(...lateMs)).toBeGreaterThanOrEqual(0);
    process.stdout.write(
      `delay topics: the latest of ${lateMs.length} was ${Math.round(Math.max(...lateMs))} ms late\n`,
    );
    await until(() => second.house.lines.keys === 0);
    await second.end();
    const lag = await kafka.admin.lag(`${kafka.prefix}worker`, ['calls', ...delayTopics]);
    expect(lag.filter(({ lag }) => lag > 0)).toEqual([]);
  });
});
