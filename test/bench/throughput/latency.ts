import { Kafka, logLevel } from 'kafkajs';

import { callValue } from './round.ts';

/** Times between producing a call and reading its result, milliseconds. */
export interface Latency {
  readonly calls: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const tickMs = 20;

/** Offers `perSecond` calls for `seconds` and times their results. The contestant runs already. */
export async function measureLatency(
  brokers: readonly string[],
  prefix: string,
  perSecond: number,
  seconds: number,
): Promise<Latency> {
  const kafka = new Kafka({ brokers: [...brokers], clientId: 'bench-latency', logLevel: logLevel.NOTHING });
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  const consumer = kafka.consumer({ groupId: `${prefix}latency`, maxWaitTimeInMs: 50 });
  await Promise.all([producer.connect(), consumer.connect()]);
  await consumer.subscribe({ topic: `${prefix}results`, fromBeginning: true });
  const waits: number[] = [];
  const sentMs = new Map<string, number[]>();
  await consumer.run({
    partitionsConsumedConcurrently: 12,
    // Results of one key come in the order of its calls, so the oldest open one is meant.
    eachMessage: ({ message }) => {
      const at = sentMs.get(message.key?.toString() ?? '')?.shift();
      if (at !== undefined) waits.push(performance.now() - at);
      return Promise.resolve();
    },
  });
  const total = perSecond * seconds;
  const perTick = Math.max(1, Math.round((perSecond * tickMs) / 1_000));
  const startedMs = performance.now();
  for (let n = 0; n < total; n += perTick) {
    const dueMs = startedMs + (n / perSecond) * 1_000;
    const waitMs = dueMs - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    const messages = Array.from({ length: Math.min(perTick, total - n) }, (_, i) => ({
      key: `k${(n + i) % 1_000}`,
      value: callValue(n + i),
    }));
    const nowMs = performance.now();
    for (const { key } of messages) sentMs.set(key, [...(sentMs.get(key) ?? []), nowMs]);
    void producer.send({ topic: `${prefix}calls`, acks: -1, messages });
  }
  const untilMs = performance.now() + 30_000;
  while (waits.length < total && performance.now() < untilMs) await new Promise((resolve) => setTimeout(resolve, 50));
  await Promise.all([consumer.disconnect(), producer.disconnect()]);
  waits.sort((a, b) => a - b);
  const quantile = (q: number): number => Math.round((waits[Math.floor(q * (waits.length - 1))] ?? NaN) * 10) / 10;
  return { calls: waits.length, p50Ms: quantile(0.5), p99Ms: quantile(0.99) };
}
