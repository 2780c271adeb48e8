import { Kafka, logLevel } from 'kafkajs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { delayTopics } from '../../../src/model/delay-topics.ts';

import { findCompose, freePort, sh, until } from './engine.ts';

const found = await findCompose();
if ('missing' in found) console.warn(`\u001b[33mskipped: the compose file was not run: ${found.missing}\u001b[0m`);

// Grafana is left out: nothing here looks at pictures.
const started = ['kafka', 'redis', 'topics', 'worker', 'ingress', 'sandbox', 'prometheus'];
const token = 'token-of-the-compose-test';
const message = (n: number) => ({
  path: '/open-apis/im/v1/messages',
  query: { receive_id_type: 'chat_id' },
  body: { receive_id: `oc_${n}`, msg_type: 'text', content: '{"text":"hello"}' },
});

describe.skipIf('missing' in found)('docker-compose.yml on a real engine', { timeout: 240_000 }, () => {
  const env: Record<string, string> = {
    LARKSPUR_ADMIN_TOKEN: token,
    COMPOSE_PROJECT_NAME: `larkspur-test-${process.pid}`,
  };
  const port = (name: string): number => Number(env[`LARKSPUR_${name}_PORT`]);
  const compose = async (...args: readonly string[]): Promise<string> => {
    const [program = '', ...words] = 'compose' in found ? found.compose : [];
    return sh(env, program, ...words, ...args);
  };
  const workers = async (): Promise<string[]> => (await compose('ps', '-q', 'worker')).trim().split(/\s+/);
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(`http://127.0.0.1:${port('INGRESS')}${path}`, { headers: { authorization: `Bearer ${token}` }, ...init });
  const send = (call: object) =>
    ask('/v1/calls?wait=30s', {
      method: 'POST',
      body: JSON.stringify(call),
      headers: { authorization: `Bearer ${token}` },
    });
  const effects = async () => {
    const answer = await fetch(`http://127.0.0.1:${port('SANDBOX')}/_sandbox/effects`);
    return (await answer.json()) as { readonly effects: number; readonly twice: number };
  };

  beforeAll(async () => {
    for (const name of ['INGRESS', 'KAFKA', 'SANDBOX', 'PROMETHEUS', 'GRAFANA']) {
      env[`LARKSPUR_${name}_PORT`] = String(await freePort());
    }
    // The machine's network, because the one of containers may not reach the registry.
    await sh(env, 'docker', 'build', '--network', 'host', '-f', 'deploy/Dockerfile', '-t', 'larkspur:local', '.');
    await compose('up', '-d', '--no-build', ...started);
    await until(
      'an answer of ingress',
      120_000,
      () => ask('/v1/results/none'),
      ({ status }) => status === 404,
    );
  }, 1_200_000);

  afterAll(async () => {
    await compose('down', '-v', '--remove-orphans');
  }, 120_000);

  it('brings a call that was sent from outside back as a result', async () => {
    const answer = await send({ ...message(1), context: { from: 'outside' } });

    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({
      status: 'ok',
      source: 'live',
      response: { status: 200, code: 0 },
      context: { from: 'outside' },
    });
    expect(await effects()).toMatchObject({ effects: 1, twice: 0 });
  });

  it('asks for the token from outside', async () => {
    expect((await ask('/v1/results/none', { headers: {} })).status).toBe(401);
  });

  it('takes calls and gives results over Kafka, as a program on this machine sees it', async () => {
    const brokers = [`localhost:${port('KAFKA')}`];
    const kafka = new Kafka({ clientId: 'compose-test', brokers, logLevel: logLevel.NOTHING });
    const consumer = kafka.consumer({ groupId: 'compose-test' });
    const producer = kafka.producer();
    await Promise.all([consumer.connect(), producer.connect()]);
    const seen: string[] = [];
    await consumer.subscribe({ topic: 'larkspur.results', fromBeginning: true });
    await consumer.run({
      eachMessage: ({ message: { value } }) => {
        seen.push(String((JSON.parse(value?.toString() ?? '{}') as { id?: unknown }).id));
        return Promise.resolve();
      },
    });
    await producer.send({
      topic: 'larkspur.calls',
      messages: [{ key: 'k', value: JSON.stringify({ ...message(2), id: 'by-kafka' }) }],
    });

    await until(
      'the result',
      60_000,
      () => Promise.resolve(seen),
      (ids) => ids.includes('by-kafka'),
    );
    expect(seen.filter((id) => id === 'by-kafka')).toHaveLength(1);
    await Promise.all([consumer.disconnect(), producer.disconnect()]);
  });

  it('scales to three workers, which share the partitions and are found by Prometheus', async () => {
    await compose('up', '-d', '--no-build', '--scale', 'worker=3', ...started);
    expect(await workers()).toHaveLength(3);

    const query = encodeURIComponent('larkspur_kafka_assigned_partitions{job="larkspur-worker"} > 0');
    const shares = async (): Promise<number[]> => {
      const answer = await fetch(`http://127.0.0.1:${port('PROMETHEUS')}/api/v1/query?query=${query}`);
      const { data } = (await answer.json()) as { data: { result: { value: [number, string] }[] } };
      return data.result.map(({ value }) => Number(value[1]));
    };
    const topics = 1 + delayTopics.length; // `calls` and the topics in which they wait, 12 partitions each
    const third = 4 * topics;
    const held = await until(
      `the partitions of ${topics} topics on 3 workers`,
      120_000,
      shares,
      (all) => all.length === 3 && all.every((partitions) => partitions === third),
    );
    expect(held).toHaveLength(3);

    const before = (await effects()).effects;
    const answers = await Promise.all(Array.from({ length: 30 }, (_, n) => send(message(100 + n))));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(await effects()).toMatchObject({ effects: before + 30, twice: 0 });
  });

  it('drains workers when they are stopped: each exits with 0', async () => {
    const ids = await workers();
    await compose('stop', 'worker');

    const codes = await sh(env, 'docker', 'inspect', '--format', '{{.State.ExitCode}}', ...ids);
    expect(codes.trim().split(/\s+/)).toEqual(ids.map(() => '0'));
  });

  it('keeps a call that comes while no worker runs, and answers it when one does', async () => {
    const taken = await ask('/v1/calls', { method: 'POST', body: JSON.stringify({ ...message(3), id: 'kept' }) });
    expect(taken.status).toBe(202);
    await compose('up', '-d', '--no-build', ...started);

    const answer = await until(
      'the result',
      120_000,
      () => ask('/v1/results/kept'),
      ({ status }) => status === 200,
    );
    expect(await answer.json()).toMatchObject({ id: 'kept', status: 'ok' });
  });
});
