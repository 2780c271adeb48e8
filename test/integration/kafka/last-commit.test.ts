import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import { Kafka, logLevel } from 'kafkajs';
import { afterAll, expect, it } from 'vitest';

import { createMetrics } from '../../../src/adapters/prometheus/metrics.ts';
import { systemClock, systemRandom, systemTimers } from '../../../src/adapters/system/clock.ts';
import { compile } from '../../../src/config/compile.ts';
import { complete } from '../../../src/config/complete.ts';
import { delayTopics } from '../../../src/model/delay-topics.ts';
import { openStores } from '../../../src/runtime/open-stores.ts';
import { type RunningWorker, startWorker } from '../../../src/runtime/start-worker.ts';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { describeWithServices } from '../../support/services/provided.ts';
import { noLogger } from '../../support/silent.ts';

const partitions = 4;
const count = 80;

describeWithServices('a worker whose partitions move', (brokers, redisUrl) => {
  const closing: (() => Promise<unknown>)[] = [];
  afterAll(async () => {
    for (const close of closing.reverse()) await close();
  });

  it('K11: commits what is done first: the next owner fetches none of it again', async () => {
    const prefix = `t${randomUUID().slice(0, 8)}.`;
    const sandbox = await createSandbox({ settings: { tierMode: 'off', chatPerSecond: 0 } });
    closing.push(() => sandbox.close());
    const kafka = new Kafka({ brokers, clientId: 'larkspur-test', logLevel: logLevel.NOTHING });
    const admin = kafka.admin();
    const producer = kafka.producer();
    await Promise.all([admin.connect(), producer.connect()]);
    closing.push(() => Promise.all([admin.disconnect(), producer.disconnect()]));
    await admin.createTopics({
      topics: ['calls', ...delayTopics, 'results', 'dead-letters'].map((name) => ({
        topic: prefix + name,
        numPartitions: partitions,
      })),
    });

    const { value } = complete(
      {
        kafka: { brokers, topicPrefix: prefix, group: `${prefix}worker`, sessionTimeoutMs: 6_000 },
        redis: { url: redisUrl, keyPrefix: prefix },
        apps: [{ id: 'cli_a', secret: 'sandbox' }],
        upstreams: { feishu: { baseUrl: sandbox.url } },
        // Neither time nor number brings a commit in this test: only what is about to move does.
        worker: { commit: { intervalMs: 600_000, everyDone: 100_000 } },
      },
      () => 'test',
    );
    const start = (): RunningWorker => {
      const parts = { clock: systemClock, timers: systemTimers, random: systemRandom, log: noLogger };
      const world = { ...parts, metrics: createMetrics({ processMetrics: false }) };
      const stores = openStores(compile(value, new Map()), world);
      const running = startWorker(compile(value, new Map()), stores, world, (error) => {
        throw error;
      });
      closing.push(async () => {
        await running.stop();
        await stores.close();
      });
      return running;
    };
    const until = async (holds: () => boolean): Promise<void> => {
      while (!holds()) await sleep(20);
    };

    const messages = Array.from({ length: count }, (_, n) => ({
      partition: n % partitions,
      key: `k${n % partitions}`,
      value: JSON.stringify({
        id: `c${n}`,
        path: '/open-apis/im/v1/messages',
        query: { receive_id_type: 'chat_id' },
        body: { receive_id: `oc_${n}`, msg_type: 'text', content: JSON.stringify({ text: `n=${n}` }) },
      }),
    }));
    // One partition a send: of a send over several, kafkajs repeats what was written when one of them has to be tried again.
    for (let partition = 0; partition < partitions; partition++) {
      const ofOne = messages.filter((message) => message.partition === partition);
      await producer.send({ topic: `${prefix}calls`, messages: ofOne });
    }
    const first = start();
    await until(() => first.worker.settled === count);
    const second = start();
    const ofCalls = ({ house }: RunningWorker) =>
      [...house.partitions.stats()].filter(({ partition }) => partition.topic === 'calls');
    const held = (worker: RunningWorker) => ofCalls(worker).length;
    await until(() => held(second) === partitions / 2 && held(first) === partitions / 2);
    // Whatever was to come again would stand before these.
    await producer.send({ topic: `${prefix}calls`, messages: messages.slice(0, partitions) });
    await until(() => first.worker.settled + second.worker.settled >= count + partitions);
    await until(() => ofCalls(second).every(({ watermark }) => watermark > count / partitions));

    expect(second.worker.settled).toBe(partitions / 2);
    // The four that came later carry ids that were done before.
    expect(sandbox.verdict({ calls: count })).toMatchObject({ effects: count, twice: 0, missing: 0 });
  });
});
