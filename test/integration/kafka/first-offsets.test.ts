import { lastValueFrom } from 'rxjs';
import { afterAll, expect, it, vi } from 'vitest';

import { KafkaHarness } from '../../support/services/kafka-harness.ts';
import { describeWithKafka } from '../../support/services/provided.ts';
import { SourceReader } from '../../support/source-reader.ts';

describeWithKafka('a new group that starts where another one is', (brokers) => {
  const kafka = new KafkaHarness(brokers);
  afterAll(() => kafka.close());
  const values = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => `v${from + n}`);
  const write = (topic: string, from: number, to: number) =>
    kafka.write(
      topic,
      values(from, to).map((text) => ({ key: Buffer.from(text), value: Buffer.from(text) })),
    );
  /** A member of another group that has committed all it has read. */
  const other = async (group: string, topic: string, count: number) => {
    const source = kafka.member(group, [topic], { tuning: { metadataMaxAgeMs: 500 } });
    const reader = new SourceReader(source);
    const commitAll = async (total: number) => {
      await reader.until(() => reader.records.length === total);
      const last = new Map(reader.records.map(({ partition, offset }) => [partition, offset + 1]));
      const commits = [...last].map(([number, offset]) => ({
        partition: reader.partition(number),
        offset,
        metadata: '',
      }));
      await lastValueFrom(source.commit(commits));
    };
    await commitAll(count);
    return { source, commitAll };
  };

  it('reads what came since then and nothing of before, also when its members begin together', async () => {
    const topic = await kafka.topic(6);
    await write(topic, 0, 30);
    const [theirs, ours] = [kafka.unique('theirs'), kafka.unique('ours')];
    const { source } = await other(theirs, topic, 30);
    const members = Array.from({ length: 3 }, () => kafka.member(ours, [topic], { startsAs: theirs }));
    const readers = members.map((member) => new SourceReader(member));
    await Promise.all(readers.map((reader) => reader.until(() => reader.partitions.length === 2)));
    await write(topic, 30, 60);
    const read = () => readers.flatMap((reader) => reader.values);
    await vi.waitFor(() => expect([...new Set(read())].sort()).toEqual(values(30, 60).sort()), { timeout: 20_000 });
    await Promise.all([source, ...members].map((member) => member.close()));
  }, 60_000);

  it('reads a partition that came later from its start', async () => {
    const topic = await kafka.topic(1);
    await write(topic, 0, 5);
    const [theirs, ours] = [kafka.unique('theirs'), kafka.unique('ours')];
    const { source, commitAll } = await other(theirs, topic, 5);
    const first = kafka.member(ours, [topic], { startsAs: theirs });
    const before = new SourceReader(first);
    await before.until(() => before.partitions.length === 1);
    await first.close();

    await kafka.admin.addPartitions(topic, 3);
    await write(topic, 5, 25);
    await commitAll(25);
    const second = kafka.member(ours, [topic], { startsAs: theirs });
    const after = new SourceReader(second);
    await after.until(() => after.records.length === 20);
    expect(after.values.sort()).toEqual(values(5, 25).sort());
    await Promise.all([source.close(), second.close()]);
  }, 60_000);
});
