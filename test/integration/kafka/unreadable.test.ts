import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import kafkajs from 'kafkajs';
import { toArray } from 'rxjs';
import { expect, it } from 'vitest';

import { KafkaReader } from '../../../src/adapters/kafka/reader.ts';
import { kafkaTail } from '../../../src/adapters/kafka/tail.ts';
import { systemTimers } from '../../../src/adapters/system/clock.ts';
import { only } from '../../support/only.ts';
import { ownBroker } from '../../support/services/own-broker.ts';
import { describeWithKafka } from '../../support/services/provided.ts';
import { SourceReader } from '../../support/source-reader.ts';

const { CompressionCodecs, CompressionTypes, Kafka, logLevel } = kafkajs;

/** Bytes as an LZ4 frame of one block that is stored as it is: what a producer with that codec writes. */
function lz4(bytes: Buffer): Buffer {
  const head = Buffer.from([0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82]);
  const size = Buffer.alloc(4);
  size.writeUInt32LE((bytes.length | 0x80000000) >>> 0);
  return Buffer.concat([head, size, bytes, Buffer.alloc(4)]);
}

// A broker of its own: this suite damages its disk.
describeWithKafka('batches that cannot be read', () => {
  const own = ownBroker();
  const { broker } = own;

  /** Reads a topic of two partitions of which the first is stuck after some records, and the second goes on. */
  async function expectHeld(topic: string, before: readonly string[], why: RegExp): Promise<void> {
    const source = own.kafka.member(own.kafka.unique('group'), [topic]);
    const reader = new SourceReader(source);
    await reader.until(() => why.test(own.kafka.logger.text) && reader.valuesOf(1).length === 1);
    expect(reader.valuesOf(0)).toEqual(before);
    expect(own.kafka.logger.text).toContain('it is held, the others go on');
    await send(topic, 1, 'later');
    await reader.until(() => reader.valuesOf(1).length === 2);
    expect([reader.valuesOf(0), reader.error, source.ready()]).toEqual([before, undefined, true]);
    await source.close();
  }

  async function send(topic: string, partition: number, value: string, compression = CompressionTypes.None) {
    const producer = new Kafka({ brokers: broker.brokers, logLevel: logLevel.NOTHING }).producer();
    await producer.connect();
    await producer.send({ topic: own.kafka.prefix + topic, compression, messages: [{ partition, value }] });
    await producer.disconnect();
  }

  it('K19, D4: a codec that is not there holds its partition, with an alarm; the others go on', async () => {
    const topic = await own.kafka.topic(2);
    await send(topic, 0, 'before');
    const original = CompressionCodecs[CompressionTypes.LZ4];
    const compress = ({ buffer }: { buffer: Buffer }) => Promise.resolve(lz4(buffer));
    CompressionCodecs[CompressionTypes.LZ4] = () => ({ compress, decompress: () => Promise.reject(new Error('no')) });
    await send(topic, 0, 'packed', CompressionTypes.LZ4);
    CompressionCodecs[CompressionTypes.LZ4] = original;
    await send(topic, 0, 'after');
    await send(topic, 1, 'beside');
    await expectHeld(topic, ['before'], /LZ4 compression not implemented/);
  });

  it('K20: a byte that flipped on the disk of the broker is found: its batch and what follows are held, with an alarm', async () => {
    const topic = await own.kafka.topic(2);
    for (const value of ['first', 'victim', 'third']) await send(topic, 0, value);
    await send(topic, 1, 'beside');
    await broker.halt();
    const folder = broker.segmentsOf(own.kafka.prefix + topic, 0);
    const file = join(folder, readdirSync(folder).find((name) => name.endsWith('.log')) ?? '');
    const bytes = readFileSync(file);
    bytes.write('V', bytes.indexOf('victim'));
    writeFileSync(file, bytes);
    await broker.start();
    await expectHeld(topic, ['first'], /the checksum of the batch at offset 1 does not fit/);
    // Who asks for all of the topic must not take what comes before it for all there is.
    const reading = {
      client: own.kafka.client,
      prefix: own.kafka.prefix,
      logger: own.kafka.logger,
      timers: systemTimers,
    };
    const all$ = kafkaTail(topic, { ...reading, last: 10, follow: false });
    await expect(only(all$.pipe(toArray()))).rejects.toThrow(/cannot be read to its end: the checksum of the batch at/);
    // Who asks only for what comes before it gets that.
    const stretches = [0, 1].map((partition) => ({ partition, from: 0, to: 1 }));
    const before = await only(new KafkaReader(reading).scan(topic, stretches).pipe(toArray()));
    expect(before.map(({ partition, value }) => `${partition} ${String(value)}`).sort()).toEqual([
      '0 first',
      '1 beside',
    ]);
  });
});
