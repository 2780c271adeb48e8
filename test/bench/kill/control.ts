// The control: a consumer loop as a careful engineer writes it on kafkajs and undici, with a shared limit of calls in flight,
// results produced with acks = all, and offsets committed after them, batch by batch.
import { Kafka, logLevel } from 'kafkajs';
import { Pool } from 'undici';

/** What the bench tells the control, as JSON in its first argument. */
export interface ControlTask {
  readonly brokers: readonly string[];
  readonly prefix: string;
  readonly upstreamUrl: string;
  readonly inFlight: number;
  readonly sessionTimeoutMs: number;
}

const { brokers, prefix, upstreamUrl, inFlight, sessionTimeoutMs } = JSON.parse(process.argv[2] ?? '{}') as ControlTask;
const kafka = new Kafka({ brokers: [...brokers], clientId: 'control', logLevel: logLevel.ERROR });
const consumer = kafka.consumer({ groupId: `${prefix}worker`, sessionTimeout: sessionTimeoutMs, maxWaitTimeInMs: 250 });
const producer = kafka.producer({ allowAutoTopicCreation: false });
const pool = new Pool(upstreamUrl, { connections: inFlight, pipelining: 1 });

let free = inFlight;
const waiting: (() => void)[] = [];
async function slot(): Promise<void> {
  if (free > 0) free--;
  else await new Promise<void>((resolve) => waiting.push(resolve));
}
function release(): void {
  const next = waiting.shift();
  if (next === undefined) free++;
  else next();
}

async function post(path: string, body: unknown, token?: string): Promise<unknown> {
  const headers = {
    'content-type': 'application/json',
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
  const reply = await pool.request({ method: 'POST', path, headers, body: JSON.stringify(body) });
  return reply.body.json();
}

const { tenant_access_token: token } = (await post('/open-apis/auth/v3/tenant_access_token/internal', {
  app_id: 'cli_chaos',
  app_secret: 'secret',
})) as { tenant_access_token: string };

async function call(value: Buffer): Promise<string> {
  await slot();
  try {
    const { id, path, query, body } = JSON.parse(value.toString()) as Record<string, never>;
    await post(`${String(path)}?${new URLSearchParams(query).toString()}`, body, token);
    return JSON.stringify({ id, status: 'ok' });
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
    const messages = await Promise.all(
      batch.messages.map(async ({ key, value }) => {
        const result = await call(value ?? Buffer.alloc(0));
        await payload.heartbeat();
        return { key, value: result };
      }),
    );
    for (let at = 0; at < messages.length; at += 1_000) {
      await producer.send({ topic: `${prefix}results`, acks: -1, messages: messages.slice(at, at + 1_000) });
    }
    payload.resolveOffset(batch.lastOffset());
    const offset = String(Number(batch.lastOffset()) + 1);
    await consumer.commitOffsets([{ topic: batch.topic, partition: batch.partition, offset }]);
    await payload.heartbeat();
  },
});
