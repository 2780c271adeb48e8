import { randomBytes } from 'node:crypto';
import net from 'node:net';

import { afterAll, expect, it, vi } from 'vitest';

import { systemTimers } from '../../../src/adapters/system/clock.ts';
import type { Timers } from '../../../src/ports/clock.ts';
import { KafkaHarness } from '../../support/services/kafka-harness.ts';
import { describeWithKafka } from '../../support/services/provided.ts';
import { SourceReader } from '../../support/source-reader.ts';

const records = 2_000;
const recordBytes = 1_000;
const pauses = 100;
const fetchBytes = 64 * 1024;

describeWithKafka('pauses of a partition', (brokers) => {
  const kafka = new KafkaHarness(brokers);
  afterAll(() => kafka.close());

  it('P15: a hundred pauses in the midst of what was fetched do not fetch it a hundred times, and keep the order', async () => {
    const topic = await kafka.topic(1);
    const values = Array.from({ length: records }, (_, n) => `${n}:${randomBytes(recordBytes / 2).toString('hex')}`);
    await kafka.write(
      topic,
      values.map((value) => ({ value: Buffer.from(value) })),
    );
    const connect = vi.spyOn(net, 'connect');
    const source = kafka.member(kafka.unique('group'), [topic], { tuning: { maxBytesPerPartition: fetchBytes } });
    let paused = 0;
    const reader = new SourceReader(source, (partition) => {
      if (reader.records.length % (records / pauses) !== 0) return;
      paused += 1;
      source.pause(partition);
      setTimeout(() => source.resume(partition), 5);
    });
    await reader.until(() => reader.records.length >= records);
    const readBytes = connect.mock.results.reduce((total, { value }) => total + (value as net.Socket).bytesRead, 0);
    connect.mockRestore();
    expect(paused).toBe(pauses);
    expect(reader.values).toEqual(values);
    // A batch is fetched whole, so one that is larger than what is kept comes more than once, but not with every pause.
    expect(readBytes).toBeGreaterThan(records * recordBytes);
    expect(readBytes).toBeLessThan(8 * records * recordBytes);
    reader.unsubscribe();
    await source.close();
  });

  it('a rebalance between a resume and what it sets going leaves no partition standing', async () => {
    const topic = await kafka.topic(4);
    const perPartition = 50;
    const values = Array.from({ length: 4 * perPartition }, (_, n) => ({
      key: Buffer.from(`k${n}`),
      value: Buffer.from(`${n}`),
    }));
    await kafka.write(topic, values);
    const group = kafka.unique('group');
    const held: (() => void)[] = [];
    let holds = true;
    const timers: Timers = {
      after: (ms, task) => (ms > 0 || !holds ? systemTimers.after(ms, task) : (held.push(task), () => undefined)),
    };
    const source = kafka.member(group, [topic], { timers });
    const first = new SourceReader(source, (partition) => {
      // Each is paused in the midst of its first fetch.
      if (first.valuesOf(partition.partition).length === 10) source.pause(partition);
    });
    await first.until(() => first.partitions.length === 4);
    const paused = () => [0, 1, 2, 3].filter((number) => first.valuesOf(number).length >= 10);
    await first.until(() => paused().length === 4);
    for (const partition of first.partitions) source.resume(partition);
    expect(held).toHaveLength(4);

    const second = new SourceReader(kafka.member(group, [topic]));
    await second.until(() => second.partitions.length === 2);
    await first.until(() => first.partitions.length === 2);
    holds = false;
    for (const task of held) task();
    await first.until(() => new Set([...first.values, ...second.values]).size === values.length);
    for (const { partition } of first.partitions) {
      const offsets = first.records.filter((one) => one.partition === partition).map(({ offset }) => offset);
      expect(offsets).toEqual(offsets.map((_, index) => index));
    }
    first.unsubscribe();
    second.unsubscribe();
  });
});
