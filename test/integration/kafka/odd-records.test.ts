import { setTimeout as sleep } from 'node:timers/promises';

import { Kafka, logLevel } from 'kafkajs';
import { afterAll, expect, it } from 'vitest';

import { only } from '../../support/only.ts';
import { KafkaHarness } from '../../support/services/kafka-harness.ts';
import { describeWithKafka } from '../../support/services/provided.ts';
import { SourceReader } from '../../support/source-reader.ts';

describeWithKafka('odd records and members', (brokers) => {
  const kafka = new KafkaHarness(brokers);
  const admin = new Kafka({ brokers, logLevel: logLevel.NOTHING }).admin();
  afterAll(() => Promise.all([kafka.close(), admin.disconnect()]));

  it('K16: a record larger than a fetch of its partition is delivered', async () => {
    const topic = await kafka.topic(1);
    const value = Buffer.alloc(600_000, 'x');
    await kafka.write(topic, [{ value: Buffer.from('before') }, { value }, { value: Buffer.from('after') }]);
    const records = await kafka.read(topic, 3);
    expect(records.map((record) => record.value?.length)).toEqual([6, 600_000, 5]);
  });

  it('K22: a record of last month is delivered with its own time', async () => {
    const topic = await kafka.topic(1);
    const monthAgoMs = Date.now() - 30 * 86_400_000;
    const producer = new Kafka({ brokers, logLevel: logLevel.NOTHING }).producer();
    await producer.connect();
    await producer.send({ topic: kafka.prefix + topic, messages: [{ value: 'old', timestamp: String(monthAgoMs) }] });
    await producer.disconnect();
    expect(await kafka.read(topic, 1)).toMatchObject([{ timestampMs: monthAgoMs }]);
  });

  it('a write that the broker dates is acknowledged with that date', async () => {
    await admin.connect();
    const topic = 'dated';
    const configEntries = [{ name: 'message.timestamp.type', value: 'LogAppendTime' }];
    await admin.createTopics({ topics: [{ topic: kafka.prefix + topic, numPartitions: 1, configEntries }] });
    const ack = await only(kafka.sink.append({ topic, key: null, value: Buffer.from('v'), headers: [] }));
    const [record] = await kafka.read(topic, 1);
    expect(ack).toEqual({ kind: 'written', partition: 0, offset: 0, storedAtMs: record?.timestampMs });
  });

  it('K36: metadata of 4,096 characters comes back, one more costs only itself: the offset is stored', async () => {
    const topic = await kafka.topic(1);
    await kafka.write(topic, [{ value: Buffer.from('a') }, { value: Buffer.from('b') }]);
    const group = kafka.unique('group');
    const found: unknown[] = [];
    for (const [offset, length] of [
      [1, 4_096],
      [2, 4_097],
    ] as const) {
      const source = kafka.member(group, [topic]);
      const reader = new SourceReader(source);
      await reader.until(() => reader.partitions.length === 1);
      await only(source.commit([{ partition: reader.partition(), offset, metadata: 'm'.repeat(length) }]));
      await source.close();
      const next = kafka.member(group, [topic]);
      const after = new SourceReader(next);
      await after.until(() => after.partitions.length === 1);
      const [first] = after.events;
      found.push(first?.kind === 'assigned' ? [first.fromOffset, first.metadata?.length ?? null] : first);
      await next.close();
    }
    expect(found).toEqual([
      [1, 4_096],
      [2, null],
    ]);
  });

  it('K35, D5: members that are closed at any moment of their start leave nobody behind in the group', async () => {
    const topic = await kafka.topic(2);
    const group = kafka.unique('group');
    for (const afterMs of [0, 30, 100, 300, 700, 1_200]) {
      const source = kafka.member(group, [topic]);
      const reader = new SourceReader(source);
      await sleep(afterMs);
      await source.close();
      expect(reader.error).toBeUndefined();
    }
    await admin.connect();
    // One that was cut off in the middle of its join is missed by the group after its session of 6 s.
    const untilMs = Date.now() + 40_000;
    const members = async () => (await admin.describeGroups([group])).groups[0]?.members.length ?? 0;
    while ((await members()) > 0 && Date.now() < untilMs) await sleep(250);
    expect(await members()).toBe(0);
  });
});
