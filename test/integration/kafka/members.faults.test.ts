import { afterAll, beforeAll, expect, it } from 'vitest';

import { createKafkaSink } from '../../../src/adapters/kafka/sink.ts';
import { only } from '../../support/only.ts';
import { KafkaHarness } from '../../support/services/kafka-harness.ts';
import { LocalKafka } from '../../support/services/local-kafka.ts';
import { describeWithKafka } from '../../support/services/provided.ts';
import { SourceReader } from '../../support/source-reader.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';

const numbered = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ key: Buffer.from(`k${i % 7}`), value: Buffer.from(String(i)) }));

// A broker of its own: this suite sets quotas and moves it.
describeWithKafka('members of a group', () => {
  let link: TcpProxy;
  let broker: LocalKafka;
  let kafka: KafkaHarness;

  beforeAll(async () => {
    link = await TcpProxy.open();
    broker = new LocalKafka();
    await broker.start();
    kafka = new KafkaHarness(broker.brokers);
  });
  afterAll(async () => {
    await kafka.close();
    await broker.stop();
    await link.close();
  });

  it('K14: an event loop that stood still for longer than the session: what it held counts no more, and comes again', async () => {
    const topic = await kafka.topic(2);
    const source = kafka.member(kafka.unique('group'), [topic]);
    const reader = new SourceReader(source);
    await kafka.write(topic, numbered(40));
    await reader.until(() => reader.records.length === 40);
    const old = [...reader.partitions];
    // The session is 6 s. Nothing of this process runs meanwhile, no heartbeat either.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 9_000);
    const commits = old.map((partition) => ({
      partition,
      offset: reader.valuesOf(partition.partition).length,
      metadata: '',
    }));
    const stored = await only(source.commit(commits)).then(
      () => true,
      () => false,
    );
    await reader.until(() => reader.events.filter(({ kind }) => kind === 'lost').length === 2, 30_000);
    await reader.until(() => reader.records.length === 80 && source.ready(), 30_000);
    expect(stored).toBe(false);
    expect(reader.partitions.every(({ epoch }) => old.every((one) => epoch > one.epoch))).toBe(true);
    await source.close();
  }, 90_000);

  it('K32: a member that reads other topics under the same group id is told of, and takes nothing away', async () => {
    const [mine, theirs] = [await kafka.topic(2), await kafka.topic(2)];
    const group = kafka.unique('group');
    const first = new SourceReader(kafka.member(group, [mine]));
    await first.until(() => first.partitions.length === 2);
    const second = new SourceReader(kafka.member(group, [theirs]));
    await first.until(() => kafka.logger.text.includes('give others a group of their own'), 30_000);
    await first.until(() => first.partitions.length === 2);
    expect(new Set(first.partitions.map(({ topic }) => topic))).toEqual(new Set([mine]));
    for (const reader of [first, second]) reader.unsubscribe();
  }, 60_000);

  it('K30: a quota of the broker slows writes down: no error, nothing lost, and members stay', async () => {
    const topic = await kafka.topic(1);
    const clientId = kafka.unique('slow');
    const quota = ['--alter', '--add-config', 'producer_byte_rate=50000', '--entity-type', 'clients'];
    await broker.tool(
      'kafka.admin.ConfigCommand',
      '--bootstrap-server',
      broker.brokers[0] ?? '',
      ...quota,
      '--entity-name',
      clientId,
    );
    const reader = new SourceReader(kafka.member(kafka.unique('group'), [topic]));
    await reader.until(() => reader.partitions.length === 1);
    const sink = createKafkaSink({ ...kafka.sinkOptions, client: { ...kafka.client, clientId } });
    const value = Buffer.alloc(50_000, 'x');
    const startedMs = Date.now();
    const failed = kafka.logger.lines.length;
    for (let i = 0; i < 20; i++) await only(sink.append({ topic, key: null, value, headers: [] }));
    const tookMs = Date.now() - startedMs;
    await reader.until(() => reader.records.length === 20);
    // A megabyte at 50 kB/s, less what a quota lets through at first.
    expect(tookMs).toBeGreaterThan(3_000);
    expect(kafka.logger.lines.slice(failed).filter(({ level }) => level === 'warn' || level === 'error')).toEqual([]);
    expect(reader.events.filter(({ kind }) => kind === 'lost')).toEqual([]);
    reader.unsubscribe();
    await sink.close();
  }, 90_000);

  it('K33: brokers whose addresses have changed are found again by way of the address that is configured', async () => {
    link.to(Number(broker.brokers[0]?.split(':')[1]));
    const client = { ...kafka.client, brokers: [`127.0.0.1:${link.port}`] };
    const topic = await kafka.topic(1);
    const source = kafka.member(kafka.unique('group'), [topic], { client, tuning: { watchdogMs: 5_000 } });
    const sink = createKafkaSink({ ...kafka.sinkOptions, client });
    const write = (text: string) => only(sink.append({ topic, key: null, value: Buffer.from(text), headers: [] }));
    const reader = new SourceReader(source);
    await write('before');
    await reader.until(() => reader.records.length === 1);
    link.break();
    await broker.move();
    link.to(Number(broker.brokers[0]?.split(':')[1]));
    link.heal();
    await write('after');
    await reader.until(() => reader.values.includes('after'), 60_000);
    expect(reader.error).toBeUndefined();
    await source.close();
    await sink.close();
  }, 120_000);
});
