import { firstValueFrom, take, toArray } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { InRecord, OutRecord } from '../../src/model/record.ts';
import type { TopicReader } from '../../src/ports/topic-reader.ts';
import { only } from '../support/only.ts';

/** A reader on topics of a test's own. */
export interface TopicReaderBench {
  readonly reader: TopicReader;
  topic(partitions: number): Promise<string>;
  write(topic: string, records: readonly Pick<OutRecord, 'key' | 'value' | 'headers'>[]): Promise<void>;
  commit(group: string, topic: string, partition: number, offset: number): Promise<void>;
  close(): Promise<void>;
}

/** What every {@link TopicReader} promises. */
export function topicReaderSuite(name: string, open: () => Promise<TopicReaderBench>): void {
  describe(`topic reader: ${name}`, () => {
    let bench: TopicReaderBench;
    beforeAll(async () => {
      bench = await open();
    });
    afterAll(() => bench.close());

    const filled = async (count: number): Promise<string> => {
      const topic = await bench.topic(3);
      await bench.write(
        topic,
        Array.from({ length: count }, (_, n) => ({
          key: Buffer.from(`k${n % 10}`),
          value: Buffer.from(String(n)),
          headers: [['n', Buffer.from(String(n))]] as const,
        })),
      );
      return topic;
    };
    const scan = (topic: string, ...stretches: Parameters<TopicReader['scan']>[1] & object): Promise<InRecord[]> =>
      firstValueFrom(bench.reader.scan(topic, stretches.length === 0 ? undefined : stretches).pipe(toArray()));

    it('reads everything once, in offset order within a partition, and completes', async () => {
      const topic = await filled(3_000);
      const records = await scan(topic);
      expect(records.map(({ value }) => Number(value)).sort((a, b) => a - b)).toEqual(
        Array.from({ length: 3_000 }, (_, n) => n),
      );
      for (let partition = 0; partition < 3; partition++) {
        const offsets = records.filter((record) => record.partition === partition).map(({ offset }) => offset);
        expect(offsets).toEqual(offsets.map((_, n) => n));
      }
      expect(records[0]?.headers.map(([header]) => header)).toEqual(['n']);
    });

    it('reads a stretch, with its end left out, and nothing of other partitions', async () => {
      const topic = await filled(300);
      const records = await scan(topic, { partition: 1, from: 5, to: 8 });
      expect(records.map(({ partition, offset }) => [partition, offset])).toEqual([
        [1, 5],
        [1, 6],
        [1, 7],
      ]);
      expect(await scan(topic, { partition: 1, from: 1_000_000 })).toEqual([]);
      expect(await scan(topic, { partition: 7, from: 0 })).toEqual([]);
    });

    it('completes at once for an empty topic', async () => {
      expect(await scan(await bench.topic(3))).toEqual([]);
    });

    it('stops when nobody listens any more', async () => {
      const topic = await filled(100);
      expect(await firstValueFrom(bench.reader.scan(topic).pipe(take(3), toArray()))).toHaveLength(3);
    });

    it('tells where partitions begin and end', async () => {
      const topic = await filled(50);
      const bounds = await only(bench.reader.bounds(topic));
      expect(bounds.map(({ partition }) => partition).sort()).toEqual([0, 1, 2]);
      expect(bounds.every(({ begin }) => begin === 0)).toBe(true);
      expect(bounds.reduce((sum, { end }) => sum + end, 0)).toBe(50);
    });

    it('tells what a group has committed, and leaves out what it has not', async () => {
      const topic = await filled(50);
      expect(await only(bench.reader.committed(`${topic}-group`, topic))).toEqual(new Map());
      await bench.commit(`${topic}-group`, topic, 1, 4);
      expect(await only(bench.reader.committed(`${topic}-group`, topic))).toEqual(new Map([[1, 4]]));
    });

    it('errors with topic_missing for a topic that is not there', async () => {
      await expect(scan('no-such-topic')).rejects.toMatchObject({ code: 'topic_missing' });
      await expect(only(bench.reader.bounds('no-such-topic'))).rejects.toMatchObject({ code: 'topic_missing' });
    });
  });
}
