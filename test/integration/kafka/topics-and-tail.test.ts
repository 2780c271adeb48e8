import { setImmediate } from 'node:timers/promises';

import kafkajs from 'kafkajs';
import { take, tap, toArray } from 'rxjs';
import { afterAll, expect, it } from 'vitest';

import { kafkaTail } from '../../../src/adapters/kafka/tail.ts';
import { TopicScan } from '../../../src/adapters/kafka/topic-scan.ts';
import { systemTimers } from '../../../src/adapters/system/clock.ts';
import { topicDeclarations } from '../../../src/model/topics.ts';
import { applyPlan, topicPlan } from '../../../src/runtime/topics.ts';
import { only } from '../../support/only.ts';
import { KafkaHarness } from '../../support/services/kafka-harness.ts';
import { describeWithKafka } from '../../support/services/provided.ts';

const { Kafka, logLevel } = kafkajs;

describeWithKafka('topics and tail on a real broker', (brokers) => {
  const kafka = new KafkaHarness(brokers);
  afterAll(() => kafka.close());

  const tail$ = (topic: string, last: number, follow = false) =>
    kafkaTail(topic, {
      client: kafka.client,
      prefix: kafka.prefix,
      logger: kafka.logger,
      timers: systemTimers,
      last,
      follow,
    });

  it('topics apply creates what is declared, a second plan is empty, and a larger setting is kept', async () => {
    const plan = await topicPlan(kafka.admin);
    expect(plan.steps.map(({ kind }) => kind)).toEqual(topicDeclarations.map(() => 'create'));

    const done: unknown[] = [];
    await applyPlan(kafka.admin, plan, (step) => done.push(step));
    expect(done).toEqual(plan.steps);
    expect(await topicPlan(kafka.admin)).toMatchObject({ steps: [], refusals: [] });

    await kafka.admin.setSettings('calls', { 'retention.ms': '999999999999', 'compression.type': 'lz4' });
    const again = await topicPlan(kafka.admin);
    expect(again.steps).toEqual([
      { kind: 'set', name: 'calls', settings: { 'compression.type': 'producer' }, from: { 'compression.type': 'lz4' } },
    ]);
    expect(again.notes).toContainEqual(expect.stringMatching(/^calls: retention\.ms is 999999999999, .*stays$/));
  });

  it('topics grows a topic that has too few partitions and refuses to shrink one that has too many', async () => {
    const some = new KafkaHarness(brokers);
    const shape = { replicationFactor: 1, settings: {} };
    await some.admin.create([
      { name: 'calls', partitions: 3, ...shape },
      { name: 'results', partitions: 13, ...shape },
    ]);
    const plan = await topicPlan(some.admin);
    expect(plan.refusals).toEqual([expect.stringMatching(/^results has 13 partitions/)]);
    await applyPlan(some.admin, plan, () => undefined);
    const [calls] = await some.admin.describe(['calls']);
    expect(calls?.partitions).toBe(12);
    await some.close();
  });

  it('S004-23: tail shows the last 10 records of a topic in order of time, bytes untouched', async () => {
    const topic = await kafka.topic(3);
    for (let n = 0; n < 15; n++) {
      await kafka.write(topic, [
        { key: Buffer.from(`k${n}`), value: Buffer.from([n, 0xff]), headers: [['h', Buffer.from('x')]] },
      ]);
      // Records of one millisecond in several partitions have no order of time.
      const writtenMs = Date.now();
      while (Date.now() === writtenMs) await setImmediate();
    }
    const records = await only(tail$(topic, 10).pipe(toArray()));

    expect(records.map(({ value }) => value?.[0])).toEqual([5, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
    expect(records[0]).toMatchObject({
      key: Buffer.from('k5'),
      value: Buffer.from([5, 0xff]),
      headers: [['h', Buffer.from('x')]],
    });
  });

  it('tail of an empty topic ends at once with nothing', async () => {
    const topic = await kafka.topic(2);

    expect(await only(tail$(topic, 10).pipe(toArray()))).toEqual([]);
  });

  it('tail --follow goes on with what is appended', async () => {
    const topic = await kafka.topic(2);
    await kafka.write(topic, [{ value: Buffer.from('before') }]);
    let first = true;
    const writeAfterFirst = (): void => {
      if (first) void kafka.write(topic, [{ value: Buffer.from('after') }]);
      first = false;
    };
    const seen = await only(tail$(topic, 1, true).pipe(tap(writeAfterFirst), take(2), toArray()));

    expect(seen.map(({ value }) => String(value))).toEqual(['before', 'after']);
  });

  it('a scan that goes on after its end misses nothing that came before its last partition was read', async () => {
    const topic = await kafka.topic(2);
    const write = (partition: number, ...values: readonly string[]) =>
      kafka.write(
        topic,
        values.map((value) => ({ partition, value: Buffer.from(value) })),
      );
    await write(0, 'a', 'b', 'c');
    await write(1, 'd', 'e');
    const read: string[] = [];
    const reading = { client: kafka.client, prefix: kafka.prefix, logger: kafka.logger, timers: systemTimers };
    // As if b, c, d and e had been written while a was read.
    const scan = new TopicScan(topic, reading, {
      wants: ({ partition }) => ({ from: 0, to: partition === 0 ? 1 : 0 }),
      record: ({ value }) => {
        read.push(String(value));
        if (read.length === 6) scan.stop();
      },
      reachedEnd: () => {
        read.push('|');
        return true;
      },
    });
    const late = systemTimers.after(10_000, () => scan.stop());
    await scan.run();
    late();
    expect(read.slice(0, 2)).toEqual(['a', '|']);
    expect(read.filter((value) => 'bc'.includes(value))).toEqual(['b', 'c']);
    expect(read.filter((value) => 'de'.includes(value))).toEqual(['d', 'e']);
  });

  it.each([
    ['goes on behind what retention takes', 7, ['7', '8', '9']],
    ['ends where retention takes all that it wants', 10, []],
  ])('a scan %s while it begins', async (_, first, left) => {
    const topic = await kafka.topic(1);
    await kafka.write(
      topic,
      Array.from({ length: 10 }, (_, n) => ({ partition: 0, value: Buffer.from(String(n)) })),
    );
    const driver = new Kafka({ brokers: [...kafka.client.brokers], logLevel: logLevel.NOTHING }).admin();
    await driver.connect();
    await driver.fetchTopicOffsets(kafka.prefix + topic); // the driver must know the topic first
    const read: string[] = [];
    const reading = { client: kafka.client, prefix: kafka.prefix, logger: kafka.logger, timers: systemTimers };
    let taken = Promise.resolve();
    const scan = new TopicScan(topic, reading, {
      wants: ({ begin, end }) => {
        const partitions = [{ partition: 0, offset: String(first) }];
        taken = driver.deleteTopicRecords({ topic: kafka.prefix + topic, partitions });
        return { from: begin, to: end };
      },
      record: ({ value }) => void read.push(String(value)),
      reachedEnd: () => false,
    });
    const late = systemTimers.after(10_000, () => {
      read.push('never ended');
      scan.stop();
    });
    await scan.run();
    late();
    await taken;
    await driver.disconnect();
    expect(read).toEqual(left);
  });

  it('tail of a topic that is not there says so', async () => {
    await expect(only(tail$('nowhere', 1))).rejects.toMatchObject({ code: 'topic_missing' });
  });
});
