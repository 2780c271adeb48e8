import { randomBytes } from 'node:crypto';
import net from 'node:net';

import { afterAll, expect, it, vi } from 'vitest';

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
    expect(readBytes).toBeLessThan(2 * records * recordBytes);
    reader.unsubscribe();
    await source.close();
  });
});
