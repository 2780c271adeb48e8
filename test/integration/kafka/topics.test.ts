import { Kafka, logLevel } from 'kafkajs';
import { expect, it } from 'vitest';

import type { SourceEvent } from '../../../src/ports/record-source.ts';
import { only } from '../../support/only.ts';
import { KafkaHarness } from '../../support/services/kafka-harness.ts';
import { describeWithKafka } from '../../support/services/provided.ts';
import { SourceReader } from '../../support/source-reader.ts';

const value = (text: string) => ({ key: Buffer.from('k'), value: Buffer.from(text) });

describeWithKafka('topics that change', (brokers) => {
  const driver = () => new Kafka({ brokers, logLevel: logLevel.NOTHING }).admin();

  it('K23: a missing topic is waited for and named, never created; reading starts when it is there', async () => {
    const kafka = new KafkaHarness(brokers);
    const name = kafka.unique('late');
    const source = kafka.member(kafka.unique('group'), [name]);
    const reader = new SourceReader(source);
    await reader.until(() => kafka.logger.text.includes('topic_missing'));
    expect(kafka.logger.text).toContain(kafka.prefix + name);
    expect(kafka.logger.text).toContain('larkspur topics apply');
    expect(source.ready()).toBe(false);
    expect(await kafka.admin.describe([name])).toEqual([]);
    await kafka.admin.create([{ name, partitions: 1, replicationFactor: 1, settings: {} }]);
    await kafka.write(name, [value('there')]);
    await reader.until(() => reader.records.length === 1 && source.ready());
    await source.close();
    await kafka.close();
  });

  it('a write to a missing topic is held and goes out in order when it is there; other topics go on', async () => {
    const kafka = new KafkaHarness(brokers);
    const [name, other] = [kafka.unique('late'), await kafka.topic(1)];
    const acks = Promise.all(['a', 'b', 'c'].map((text) => kafka.write(name, [value(text)])));
    await kafka.write(other, [value('at once')]);
    expect(await kafka.admin.describe([name])).toEqual([]);
    await kafka.admin.create([{ name, partitions: 1, replicationFactor: 1, settings: {} }]);
    await acks;
    const read = await kafka.read(name, 3);
    expect(read.map((record) => record.value?.toString())).toEqual(['a', 'b', 'c']);
    await kafka.close();
  });

  it('K25: partitions that were added are read from their beginning', async () => {
    const kafka = new KafkaHarness(brokers);
    const topic = await kafka.topic(2);
    const source = kafka.member(kafka.unique('group'), [topic], { tuning: { metadataMaxAgeMs: 1_000 } });
    const reader = new SourceReader(source);
    await reader.until(() => reader.partitions.length === 2);
    await kafka.admin.addPartitions(topic, 4);
    const keyed = Array.from({ length: 40 }, (_, index) => ({
      key: Buffer.from(`k${index}`),
      value: Buffer.from('v'),
    }));
    await kafka.write(topic, keyed);
    await reader.until(() => reader.records.length === 40);
    for (const partition of [2, 3]) {
      expect(reader.valuesOf(partition).length).toBeGreaterThan(0);
      const assigned = reader.events.find((event) => event.partition.partition === partition);
      expect(assigned).toMatchObject({ kind: 'assigned', fromOffset: 0 });
    }
    await source.close();
    await kafka.close();
  });

  it('K24, D6: an output topic that is deleted while in use does not stop the others', async () => {
    const kafka = new KafkaHarness(brokers);
    const [gone, stays] = [await kafka.topic(1), await kafka.topic(1)];
    await kafka.write(gone, [value('1')]);
    await kafka.write(stays, [value('1')]);
    const admin = driver();
    await admin.connect();
    await admin.deleteTopics({ topics: [kafka.prefix + gone] });
    await admin.disconnect();
    const held = kafka.write(gone, [value('2')]);
    for (const text of ['2', '3', '4']) await kafka.write(stays, [value(text)]);
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    await kafka.write(stays, [value('5')]);
    expect(await kafka.read(stays, 5)).toHaveLength(5);
    await kafka.admin.create([{ name: gone, partitions: 1, replicationFactor: 1, settings: {} }]);
    await held;
    expect((await kafka.read(gone, 1))[0]?.value?.toString()).toBe('2');
    await kafka.close();
  });

  it('K26, L4: a committed offset beyond the log (topic created anew) is an alarm, and reading starts at the log', async () => {
    const kafka = new KafkaHarness(brokers);
    const topic = await kafka.topic(1);
    await kafka.write(topic, ['0', '1', '2'].map(value));
    const group = kafka.unique('group');
    const admin = driver();
    await admin.connect();
    const partitions = [{ partition: 0, offset: '1000' }];
    await admin.setOffsets({ groupId: group, topic: kafka.prefix + topic, partitions });
    await admin.disconnect();
    const source = kafka.member(group, [topic]);
    const reader = new SourceReader(source);
    await reader.until(() => reader.records.length === 3);
    expect(reader.values).toEqual(['0', '1', '2']);
    expect(kafka.logger.text).toContain('outside of the log');
    await source.close();
    await kafka.close();
  });

  it('K27: a retention that was faster than the group is counted, and reading goes on at the start of the log', async () => {
    const kafka = new KafkaHarness(brokers);
    const topic = await kafka.topic(1);
    await kafka.write(
      topic,
      Array.from({ length: 10 }, (_, index) => value(String(index))),
    );
    const group = kafka.unique('group');
    const first = kafka.member(group, [topic]);
    const before = new SourceReader(first);
    await before.until(() => before.records.length === 10);
    await only(first.commit([{ partition: before.partition(), offset: 2, metadata: '' }]));
    await first.close();
    const admin = driver();
    await admin.connect();
    await admin.fetchTopicOffsets(kafka.prefix + topic); // the driver must know the topic first
    await admin.deleteTopicRecords({ topic: kafka.prefix + topic, partitions: [{ partition: 0, offset: '7' }] });
    await admin.disconnect();
    const second = kafka.member(group, [topic]);
    const reader = new SourceReader(second);
    await reader.until(() => reader.records.length === 3);
    expect(reader.events[0]).toMatchObject({ kind: 'assigned', fromOffset: 7, metadata: null });
    expect(reader.values).toEqual(['7', '8', '9']);
    expect(kafka.logger.lines.find(({ fields }) => fields['missed'] === 5)?.level).toBe('error');
    await second.close();
    await kafka.close();
  });

  it('nothing is fetched before the place is known, or what retention took could not be counted', async () => {
    const kafka = new KafkaHarness(brokers);
    const topic = await kafka.topic(1);
    await kafka.write(
      topic,
      Array.from({ length: 10 }, (_, index) => value(String(index))),
    );
    const group = kafka.unique('group');
    const admin = driver();
    await admin.connect();
    const partitions = [{ partition: 0, offset: '2' }];
    await admin.setOffsets({ groupId: group, topic: kafka.prefix + topic, partitions });
    await admin.deleteTopicRecords({ topic: kafka.prefix + topic, partitions: [{ partition: 0, offset: '7' }] });
    const fetchOffsets = admin.fetchOffsets.bind(admin);
    admin.fetchOffsets = async (asked) => {
      await new Promise((resolve) => setTimeout(resolve, 1_500)); // slower than the first fetches
      return fetchOffsets(asked);
    };
    const events: SourceEvent[] = [];
    const membership = kafka.membership(group, [topic], admin, (event) => events.push(event));
    await expect.poll(() => events.length, { timeout: 20_000 }).toBe(4);
    expect(events[0]).toMatchObject({ kind: 'assigned', fromOffset: 7 });
    expect(kafka.logger.lines.find(({ fields }) => fields['missed'] === 5)?.level).toBe('error');
    await membership.end();
    await admin.disconnect();
    await kafka.close();
  });

  it('a retention that overtakes a paused member is counted when it reads on', async () => {
    const kafka = new KafkaHarness(brokers);
    const topic = await kafka.topic(1);
    const source = kafka.member(kafka.unique('group'), [topic]);
    const reader = new SourceReader(source);
    await kafka.write(topic, [value('0')]);
    await reader.until(() => reader.records.length === 1);
    source.pause(reader.partition());
    await kafka.write(
      topic,
      Array.from({ length: 9 }, (_, index) => value(String(index + 1))),
    );
    const admin = driver();
    await admin.connect();
    await admin.fetchTopicOffsets(kafka.prefix + topic);
    await admin.deleteTopicRecords({ topic: kafka.prefix + topic, partitions: [{ partition: 0, offset: '7' }] });
    await admin.disconnect();
    source.resume(reader.partition());
    await reader.until(() => reader.records.length === 4);
    expect(reader.values).toEqual(['0', '7', '8', '9']);
    expect(kafka.logger.lines.find(({ fields }) => fields['missed'] === 6)?.level).toBe('error');
    await source.close();
    await kafka.close();
  });
});
