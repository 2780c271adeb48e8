// The control: a webhook as a small service has it. fastify reads JSON and puts it on Kafka with acks = all, by its key. It
// verifies nothing, decrypts nothing, knows no repeats, and sends each event alone.
import { createHash } from 'node:crypto';

import { fastify } from 'fastify';
import { Kafka, logLevel } from 'kafkajs';

import type { ControlTask } from './contestants.ts';

const { brokers, topic, port } = JSON.parse(process.env['BENCH_TASK'] ?? '{}') as ControlTask;
const kafka = new Kafka({ brokers: [...brokers], clientId: 'control', logLevel: logLevel.ERROR });
const producer = kafka.producer({ allowAutoTopicCreation: false });
const server = fastify({ logger: false });
server.post('/feishu/:app/events', async (request) => {
  const value = JSON.stringify(request.body);
  const key = createHash('md5').update(value).digest('hex');
  await producer.send({ topic, acks: -1, messages: [{ key, value }] });
  return {};
});
server.get('/livez', () => ({}));
await producer.connect();
await server.listen({ host: '127.0.0.1', port });
