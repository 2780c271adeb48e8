import { afterAll, beforeAll, expect, it } from 'vitest';

import { KafkaHarness } from '../../support/services/kafka-harness.ts';
import { LocalKafka } from '../../support/services/local-kafka.ts';
import { describeWithKafka } from '../../support/services/provided.ts';
import { SourceReader } from '../../support/source-reader.ts';

const numbered = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => ({
    key: Buffer.from(`k${(from + i) % 20}`),
    value: Buffer.from(`${from + i}`),
  }));

// A broker of its own: this suite kills it.
describeWithKafka('a broker that fails', () => {
  const broker = new LocalKafka();
  let kafka: KafkaHarness;

  beforeAll(async () => {
    await broker.start();
    kafka = new KafkaHarness(broker.brokers);
  });
  afterAll(async () => {
    await kafka.close();
    await broker.stop();
  });

  const orderHolds = (reader: SourceReader, keys: number): boolean => {
    const firsts = [...new Set(reader.values)].map(Number);
    return Array.from({ length: keys }, (_, key) => firsts.filter((one) => one % keys === key)).every((one) =>
      one.every((value, index) => index === 0 || value > (one[index - 1] ?? 0)),
    );
  };

  it.each([
    ['is restarted in order', () => broker.halt()],
    ['is killed', () => broker.kill9()],
  ])('%s: nothing is lost, order holds, reading and writing go on by themselves', async (_, end) => {
    const topic = await kafka.topic(3);
    const source = kafka.member(kafka.unique('group'), [topic]);
    const reader = new SourceReader(source);
    await kafka.write(topic, numbered(0, 200));
    await reader.until(() => reader.records.length >= 200);
    const writes = [kafka.write(topic, numbered(200, 400))];
    await end();
    writes.push(kafka.write(topic, numbered(400, 600)));
    await broker.start();
    await Promise.all(writes);
    await reader.until(() => new Set(reader.values).size === 600, 40_000);
    expect(orderHolds(reader, 20)).toBe(true);
    await reader.until(() => source.ready());
    await source.close();
  });

  it('does not answer: the watchdog ends the life, and a new one reads on when it answers again', async () => {
    const topic = await kafka.topic(1);
    const source = kafka.member(kafka.unique('group'), [topic], { tuning: { watchdogMs: 2_000, leaveLimitMs: 500 } });
    const reader = new SourceReader(source);
    await kafka.write(topic, numbered(0, 10));
    await reader.until(() => reader.records.length === 10);
    const old = reader.partition();
    broker.pause();
    await reader.until(() => reader.partitions.length === 0, 10_000);
    expect(reader.events.at(-1)).toEqual({ kind: 'lost', partition: old });
    expect(source.ready()).toBe(false);
    await reader.until(() => kafka.logger.text.includes('no sign of life'));
    broker.resume();
    await reader.until(() => reader.records.length === 20, 40_000);
    expect(reader.partition().epoch).toBeGreaterThan(old.epoch);
    await source.close();
  });
});
