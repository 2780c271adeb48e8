// The control: a consumer loop as a careful engineer writes it on kafkajs and undici. Batches over all partitions at once,
// a shared limit of calls in flight, results produced in batches with acks = all, offsets committed after them. It has no
// claims, no retries, no breaker, no order per key, and it repeats whole batches after a crash.
import { Kafka, logLevel } from 'kafkajs';
import { Pool } from 'undici';

import { Meter, task } from './child.ts';

const { brokers, prefix, upstreamUrl, calls, inFlight } = task();
const kafka = new Kafka({ brokers: [...brokers], clientId: 'control', logLevel: logLevel.ERROR });
const consumer = kafka.consumer({ groupId: `${prefix}control`, maxWaitTimeInMs: 250 });
const producer = kafka.producer({ allowAutoTopicCreation: false });
const pool = new Pool(upstreamUrl, { connections: inFlight, pipelining: 1 });
const meter = new Meter(calls);

let free = inFlight;
const waiting: (() => void)[] = [];
let head = 0;
async function slot(): Promise<void> {
  if (free > 0) {
    free--;
    return;
  }
  await new Promise<void>((resolve) => waiting.push(resolve));
}
function release(): void {
  const next = waiting[head];
  if (next === undefined) {
    free++;
    return;
  }
  head++;
  if (head > 10_000) {
    waiting.splice(0, head);
    head = 0;
  }
  next();
}

async function call(value: Buffer): Promise<string> {
  await slot();
  try {
    const { path, body } = JSON.parse(value.toString()) as { path: string; body: unknown };
    const reply = await pool.request({
      method: 'POST',
      path,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return JSON.stringify({ status: reply.statusCode, body: await reply.body.json() });
  } finally {
    release();
  }
}

await Promise.all([consumer.connect(), producer.connect()]);
await consumer.subscribe({ topic: `${prefix}calls`, fromBeginning: true });
await consumer.run({
  autoCommit: false,
  eachBatchAutoResolve: false,
  partitionsConsumedConcurrently: 12,
  eachBatch: async (payload) => {
    const { batch } = payload;
    meter.start();
    const messages = await Promise.all(
      batch.messages.map(async ({ key, value }) => ({ key, value: await call(value ?? Buffer.alloc(0)) })),
    );
    for (let at = 0; at < messages.length; at += 1_000) {
      await producer.send({ topic: `${prefix}results`, acks: -1, messages: messages.slice(at, at + 1_000) });
    }
    payload.resolveOffset(batch.lastOffset());
    await consumer.commitOffsets([
      { topic: batch.topic, partition: batch.partition, offset: String(Number(batch.lastOffset()) + 1) },
    ]);
    await payload.heartbeat();
    meter.done(messages.length);
  },
});
process.once('disconnect', () => process.exit(0));
