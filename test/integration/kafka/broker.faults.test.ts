import { setTimeout as sleep } from 'node:timers/promises';

import { Kafka, logLevel } from 'kafkajs';
import { expect, it } from 'vitest';

import { createKafkaSink } from '../../../src/adapters/kafka/sink.ts';
import { only } from '../../support/only.ts';
import { KafkaHarness } from '../../support/services/kafka-harness.ts';
import { LocalKafka } from '../../support/services/local-kafka.ts';
import { ownBroker } from '../../support/services/own-broker.ts';
import { describeWithKafka } from '../../support/services/provided.ts';
import { SourceReader } from '../../support/source-reader.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';

const numbered = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => ({
    key: Buffer.from(`k${(from + i) % 20}`),
    value: Buffer.from(`${from + i}`),
  }));

// The driver is told to try 20 times.
const moreThanRetries = 25;

// A broker of its own: this suite kills it.
describeWithKafka('a broker that fails', () => {
  const own = ownBroker();
  const { broker } = own;

  const orderHolds = (reader: SourceReader, keys: number): boolean => {
    const firsts = [...new Set(reader.values)].map(Number);
    return Array.from({ length: keys }, (_, key) => firsts.filter((one) => one % keys === key)).every((one) =>
      one.every((value, index) => index === 0 || value > (one[index - 1] ?? 0)),
    );
  };

  it.each([
    ['is restarted in order', () => broker.halt()],
    ['is killed', () => broker.kill9()],
  ])('K1, K2: %s: nothing is lost, order holds, reading and writing go on by themselves', async (_, end) => {
    const topic = await own.kafka.topic(3);
    const source = own.kafka.member(own.kafka.unique('group'), [topic]);
    const reader = new SourceReader(source);
    await own.kafka.write(topic, numbered(0, 200));
    await reader.until(() => reader.records.length >= 200);
    const writes = [own.kafka.write(topic, numbered(200, 400))];
    await end();
    writes.push(own.kafka.write(topic, numbered(400, 600)));
    await broker.start();
    await Promise.all(writes);
    await reader.until(() => new Set(reader.values).size === 600, 40_000);
    expect(orderHolds(reader, 20)).toBe(true);
    await reader.until(() => source.ready());
    await source.close();
  });

  it('K6: does not answer: the watchdog ends the life, and a new one reads on when it answers again', async () => {
    const topic = await own.kafka.topic(1);
    const source = own.kafka.member(own.kafka.unique('group'), [topic], {
      tuning: { watchdogMs: 2_000, leaveLimitMs: 500 },
    });
    const reader = new SourceReader(source);
    await own.kafka.write(topic, numbered(0, 10));
    await reader.until(() => reader.records.length === 10);
    const old = reader.partition();
    broker.pause();
    await reader.until(() => reader.partitions.length === 0, 10_000);
    expect(reader.events.at(-1)).toEqual({ kind: 'lost', partition: old });
    expect(source.ready()).toBe(false);
    await reader.until(() => own.kafka.logger.text.includes('no sign of life'));
    broker.resume();
    await reader.until(() => reader.records.length === 20, 40_000);
    expect(reader.partition().epoch).toBeGreaterThan(old.epoch);
    await source.close();
  });

  it('K3: is away for long: nothing is read or acknowledged, the member is not ready, and all goes on by itself', async () => {
    const topic = await own.kafka.topic(1);
    const source = own.kafka.member(own.kafka.unique('group'), [topic], {
      tuning: { watchdogMs: 3_000, leaveLimitMs: 500 },
    });
    const reader = new SourceReader(source);
    await own.kafka.write(topic, numbered(0, 10));
    await reader.until(() => reader.records.length === 10);
    await broker.kill9();
    let written = false;
    const write = own.kafka.write(topic, numbered(10, 20)).then(() => (written = true));
    await reader.until(() => reader.partitions.length === 0 && !source.ready(), 60_000);
    expect([written, reader.error]).toEqual([false, undefined]);
    await broker.start();
    await write;
    await reader.until(() => new Set(reader.values).size === 20, 60_000);
    await source.close();
  });

  it.each([
    ['is gone, and there is nothing to write', 'killed', 'idle'],
    ['is gone', 'killed', 'busy'],
    ['is gone before the first write', 'killed', 'new'],
    ['does not answer, and there is nothing to write', 'paused', 'idle'],
    ['does not answer', 'paused', 'busy'],
  ])('D8: %s: who writes is told within ten seconds, and again when all is well', async (_, how, load) => {
    const topic = await own.kafka.topic(3);
    const sink = createKafkaSink(own.kafka.sinkOptions);
    const write = (n: number) => only(sink.append({ topic, key: null, value: Buffer.from(String(n)), headers: [] }));
    const tellsMs = async (ready: boolean) => {
      const startMs = Date.now();
      while (sink.ready() !== ready && Date.now() - startMs < 30_000) await sleep(20);
      return Date.now() - startMs;
    };
    await tellsMs(true);
    if (load !== 'new') await write(0);
    if (how === 'killed') await broker.kill9();
    else broker.pause();
    const written = load === 'idle' ? undefined : write(1);
    const goneMs = await tellsMs(false);
    if (how === 'killed') await broker.start();
    else broker.resume();
    await written;
    expect(goneMs).toBeLessThan(10_000);
    expect(await tellsMs(true)).toBeLessThan(10_000);
    await sink.close();
  });
});

describeWithKafka('a broker behind a network that fails', () => {
  it('D8: a line that breaks more often than a driver tries again, with nothing to read between, ends no member', async () => {
    const link = await TcpProxy.open();
    const broker = new LocalKafka({ through: link.port });
    await broker.start();
    link.to(broker.outsidePort);
    const [near, far] = [new KafkaHarness(broker.brokers), new KafkaHarness([`127.0.0.1:${link.port}`])];
    const topic = await near.topic(1);
    const source = far.member(near.unique('group'), [topic], { prefix: near.prefix });
    const reader = new SourceReader(source);
    try {
      await near.write(topic, numbered(0, 10));
      await reader.until(() => reader.records.length === 10);
      for (let nth = 0; nth < moreThanRetries; nth++) {
        link.break();
        await sleep(50);
        link.heal();
        await reader.until(() => source.ready(), 60_000);
        await sleep(300);
      }
      await near.write(topic, numbered(10, 20));
      await reader.until(() => new Set(reader.values).size === 20, 60_000);
      expect(reader.error).toBeUndefined();
    } finally {
      await source.close();
      await Promise.all([near.close(), far.close()]);
      await broker.stop();
      await link.close();
    }
  });

  it('K8, L3: a write whose answer is lost is written again: twice perhaps, lost never', async () => {
    const link = await TcpProxy.open();
    const broker = new LocalKafka({ through: link.port });
    await broker.start();
    link.to(broker.outsidePort);
    const near = new KafkaHarness(broker.brokers);
    const far = new KafkaHarness([`127.0.0.1:${link.port}`]);
    const topic = await near.topic(1);
    const admin = new Kafka({ brokers: broker.brokers, logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    const written = async () => Number((await admin.fetchTopicOffsets(near.prefix + topic))[0]?.high ?? 0);
    try {
      const sink = createKafkaSink({ ...far.sinkOptions, prefix: near.prefix });
      const write = (n: number) => only(sink.append({ topic, key: null, value: Buffer.from(String(n)), headers: [] }));
      await write(0);
      // The request arrives, and on its way back the answer meets a broken line.
      link.slow(2_000);
      const acked = write(1);
      while ((await written()) < 2) await sleep(10);
      link.break();
      await sleep(200);
      link.heal();
      expect(await acked).toMatchObject({ kind: 'written' });
      // What is new afterwards must not be taken for what came before.
      const next = await write(2);
      await sink.close();
      const values = (await near.read(topic, await written())).map(({ value }) => String(value));
      // Once more, unless this machine was too slow to catch the answer on its way.
      expect([
        ['0', '1', '1', '2'],
        ['0', '1', '2'],
      ]).toContainEqual(values);
      expect(next).toMatchObject({ kind: 'written', offset: values.length - 1 });
    } finally {
      await Promise.all([near.close(), far.close(), admin.disconnect()]);
      await broker.stop();
      await link.close();
    }
  });
});
