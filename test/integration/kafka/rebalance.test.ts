import { lastValueFrom, toArray } from 'rxjs';
import { expect, it } from 'vitest';

import { only } from '../../support/only.ts';
import { KafkaHarness } from '../../support/services/kafka-harness.ts';
import { describeWithKafka } from '../../support/services/provided.ts';
import { SourceReader } from '../../support/source-reader.ts';

const numbered = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => ({
    key: Buffer.from(`k${(from + i) % 50}`),
    value: Buffer.from(`${from + i}`),
  }));

describeWithKafka('a rebalance', (brokers) => {
  it('K10, P7, P8: redelivers nothing of the partitions that stay, though nothing was committed, and keeps their assignment', async () => {
    const kafka = new KafkaHarness(brokers);
    const topic = await kafka.topic(6);
    await kafka.write(topic, numbered(0, 600));
    const group = kafka.unique('group');
    const first = new SourceReader(kafka.member(group, [topic]));
    await first.until(() => first.records.length === 600);
    const before = [...first.partitions];

    const second = new SourceReader(kafka.member(group, [topic]));
    await second.until(() => second.partitions.length === 3);
    await first.until(() => first.partitions.length === 3);
    await kafka.write(topic, numbered(600, 900));
    const moved = () => second.partitions.map(({ partition }) => partition);
    const owed = () => first.records.filter(({ partition }) => moved().includes(partition)).length;
    await second.until(() => second.records.length >= owed());
    await first.until(() => new Set([...first.values, ...second.values]).size === 900);

    for (const partition of first.partitions) {
      expect(before).toContain(partition);
      const values = first.valuesOf(partition.partition);
      expect(new Set(values).size).toBe(values.length);
    }
    for (const { partition } of second.partitions) {
      const offsets = second.records.filter((one) => one.partition === partition).map(({ offset }) => offset);
      expect(offsets).toEqual(offsets.map((_, index) => index));
    }
    first.unsubscribe();
    second.unsubscribe();
    await kafka.close();
  });

  it('gives partition p of all topics to the same member', async () => {
    const kafka = new KafkaHarness(brokers);
    const topics = [await kafka.topic(6), await kafka.topic(6), await kafka.topic(6)];
    const group = kafka.unique('group');
    const readers = [1, 2, 3].map(() => new SourceReader(kafka.member(group, topics)));
    for (const reader of readers) await reader.until(() => reader.partitions.length === 6);
    for (const { partitions } of readers) {
      const perTopic = topics.map((topic) =>
        partitions
          .filter((one) => one.topic === topic)
          .map(({ partition }) => partition)
          .sort(),
      );
      expect(perTopic[1]).toEqual(perTopic[0]);
      expect(perTopic[2]).toEqual(perTopic[0]);
    }
    for (const reader of readers) reader.unsubscribe();
    await kafka.close();
  });

  it('keeps a paused partition paused', async () => {
    const kafka = new KafkaHarness(brokers);
    const topic = await kafka.topic(2);
    const group = kafka.unique('group');
    const first = new SourceReader(kafka.member(group, [topic]));
    await first.until(() => first.partitions.length === 2);
    for (const partition of first.partitions) first.source.pause(partition);
    const second = new SourceReader(kafka.member(group, [topic]));
    await second.until(() => second.partitions.length === 1);
    await first.until(() => first.partitions.length === 1);
    await kafka.write(topic, numbered(0, 100));
    await second.until(() => second.records.length > 0);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(first.records).toEqual([]);
    for (const partition of first.partitions) first.source.resume(partition);
    await first.until(() => first.records.length + second.records.length === 100);
    first.unsubscribe();
    second.unsubscribe();
    await kafka.close();
  });

  it('asks for a last commit in time: what it stores is where the next owner starts', async () => {
    const kafka = new KafkaHarness(brokers);
    const topic = await kafka.topic(2);
    await kafka.write(topic, numbered(0, 200));
    const group = kafka.unique('group');
    const source = kafka.member(group, [topic]);
    const first = new SourceReader(source);
    const commitAll = () => {
      const commits = first.partitions.map((partition) => ({
        ...{ partition, offset: first.valuesOf(partition.partition).length, metadata: '' },
      }));
      void only(source.commit(commits));
    };
    source.rebalancing$?.subscribe({ next: commitAll, error: () => undefined });
    await first.until(() => first.records.length === 200);
    const second = new SourceReader(kafka.member(group, [topic]));
    await second.until(() => second.partitions.length === 1);
    const [start] = second.events;
    const moved = second.partitions[0]?.partition ?? -1;
    expect(start).toMatchObject({ kind: 'assigned', fromOffset: first.valuesOf(moved).length });
    expect(first.valuesOf(moved).length).toBeGreaterThan(0);
    first.unsubscribe();
    second.unsubscribe();
    await kafka.close();
  });

  it('D7: says by its silence that a commit was not stored', async () => {
    const kafka = new KafkaHarness(brokers);
    const topic = await kafka.topic(1);
    await kafka.write(topic, numbered(0, 5));
    const source = kafka.member(kafka.unique('group'), [topic]);
    const reader = new SourceReader(source);
    await reader.until(() => reader.records.length === 5);
    const commits = [{ partition: reader.partition(), offset: 5, metadata: '' }];
    const whileOurs = await lastValueFrom(source.commit(commits).pipe(toArray()));
    await source.close();
    const afterwards = await lastValueFrom(source.commit(commits).pipe(toArray()));
    expect([whileOurs.length, afterwards.length]).toEqual([1, 0]);
    await kafka.close();
  });

  it('hands everything over at once when a member leaves in order', async () => {
    const kafka = new KafkaHarness(brokers);
    const topic = await kafka.topic(4);
    const group = kafka.unique('group');
    const leaving = kafka.member(group, [topic]);
    const first = new SourceReader(leaving);
    const second = new SourceReader(kafka.member(group, [topic]));
    await first.until(() => first.partitions.length === 2);
    await second.until(() => second.partitions.length === 2);
    await leaving.close();
    // The session is 6 s: a member that had vanished would hold its partitions for so long.
    await second.until(() => second.partitions.length === 4, 4_000);
    expect(second.partitions).toHaveLength(4);
    second.unsubscribe();
    await kafka.close();
  });
});
