import { merge, toArray } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { InRecord, OutRecord } from '../../src/model/record.ts';
import type { Ack, RecordSink } from '../../src/ports/record-sink.ts';
import { collect } from '../support/collect.ts';
import { only } from '../support/only.ts';

/** What an adapter gives so that its sink can be judged. */
export interface SinkHarness {
  readonly sink: RecordSink;
  /** Creates an empty topic that takes records up to about `maxBytes`; returns its logical name, unique in the run. */
  topic(partitions: number, maxBytes?: number): Promise<string>;
  /** Reads so many records from the start of a topic. */
  read(topic: string, count: number): Promise<InRecord[]>;
  close(): Promise<void>;
}

const out = (topic: string, key: string | null, value: string | Buffer | null): OutRecord => ({
  topic,
  key: key === null ? null : Buffer.from(key),
  value: typeof value === 'string' ? Buffer.from(value) : value,
  headers: [],
});

// Computed by Kafka's Java client: murmur2 of the key, sign bit cleared, modulo 12.
const javaPartitions: readonly (readonly [string, number])[] = [
  ['21', (-973932308 & 0x7fffffff) % 12],
  ['foobar', (-790332482 & 0x7fffffff) % 12],
  ['a-little-bit-long-string', (-985981536 & 0x7fffffff) % 12],
  ['a-little-bit-longer-string', (-1486304829 & 0x7fffffff) % 12],
  ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', (-58897971 & 0x7fffffff) % 12],
  ['abc', (479470107 & 0x7fffffff) % 12],
];

/** What every {@link RecordSink} promises. */
export function recordSinkSuite(name: string, open: () => Promise<SinkHarness>): void {
  describe(`a record sink (${name})`, () => {
    let harness: SinkHarness;
    const appendAll = (records: readonly OutRecord[]): Promise<Ack[]> =>
      only(merge(...records.map((record) => harness.sink.append(record))).pipe(toArray()));
    const append = (record: OutRecord): Promise<Ack> => only(harness.sink.append(record));

    beforeAll(async () => {
      harness = await open();
    });
    afterAll(async () => {
      await harness.close();
    });

    it('acknowledges a record with the place where it can be read', async () => {
      const topic = await harness.topic(4);
      const ack = await append(out(topic, 'k', 'v'));
      const [record] = await harness.read(topic, 1);
      expect(ack).toEqual({ kind: 'written', partition: record?.partition, offset: record?.offset });
      expect(record).toMatchObject({ topic, key: Buffer.from('k'), value: Buffer.from('v') });
    });

    it('writes nothing before it is subscribed, and once for each subscription', async () => {
      const topic = await harness.topic(1);
      void harness.sink.append(out(topic, 'k', 'never'));
      const twice$ = harness.sink.append(out(topic, 'k', 'twice'));
      await Promise.all([only(twice$), only(twice$)]);
      const records = await harness.read(topic, 2);
      expect(records.map(({ value }) => value?.toString())).toEqual(['twice', 'twice']);
    });

    it('keeps the order of records with the same key', async () => {
      const topic = await harness.topic(3);
      const records = Array.from({ length: 2_000 }, (_, index) => out(topic, `k${index % 5}`, String(index)));
      const acks = await appendAll(records);
      expect(acks).toHaveLength(2_000);
      const read = await harness.read(topic, 2_000);
      for (const key of ['k0', 'k1', 'k2', 'k3', 'k4']) {
        const values = read.filter((record) => record.key?.toString() === key).map(({ value }) => Number(value));
        expect(values).toHaveLength(400);
        expect(values).toEqual([...values].sort((a, b) => a - b));
      }
    });

    it.each(javaPartitions)(
      'puts the key %s where the Java client would: partition %i of 12',
      async (key, partition) => {
        const topic = await harness.topic(12);
        expect(await append(out(topic, key, 'v'))).toMatchObject({ kind: 'written', partition });
      },
    );

    it('spreads records without a key over all partitions', async () => {
      const topic = await harness.topic(4);
      const acks = await appendAll(Array.from({ length: 40 }, (_, index) => out(topic, null, String(index))));
      const partitions = acks.map((ack) => (ack.kind === 'written' ? ack.partition : -1));
      expect(new Set(partitions)).toEqual(new Set([0, 1, 2, 3]));
    });

    it('K15: refuses a record that is too large for its topic, alone: those appended with it are written in order', async () => {
      const topic = await harness.topic(1, 20_000);
      const values = Array.from({ length: 50 }, (_, index) => String(index));
      const records = values.map((value, index) =>
        index === 20 ? out(topic, 'k', Buffer.alloc(40_000, 1)) : out(topic, 'k', value),
      );
      const acks = await Promise.all(records.map(append));
      expect(acks[20]).toMatchObject({ kind: 'too-large' });
      const { limitBytes } = acks[20] as Extract<Ack, { kind: 'too-large' }>;
      expect(limitBytes).toBe(20_000);
      expect(acks.filter(({ kind }) => kind === 'written')).toHaveLength(49);
      const read = await harness.read(topic, 49);
      expect(read.map(({ value }) => value?.toString())).toEqual(values.filter((value) => value !== '20'));
    });

    it('writes tombstones, empty values and headers as they are, in their order, whatever they are called', async () => {
      const topic = await harness.topic(1);
      const headers = [
        ['h', Buffer.from('1')],
        ['__proto__', Buffer.from([0, 1])],
        ['constructor', Buffer.alloc(0)],
        ['h', Buffer.from('2')],
        ['7', Buffer.from('é')],
      ] as const;
      await append(out(topic, 'k', null));
      await append({ topic, key: Buffer.from('k'), value: Buffer.alloc(0), headers });
      const [tombstone, empty] = await harness.read(topic, 2);
      expect(tombstone?.value).toBeNull();
      expect(empty).toMatchObject({ value: Buffer.alloc(0), headers });
    });

    it('completes a flush only when everything appended before it is acknowledged', async () => {
      const topic = await harness.topic(2);
      const records = Array.from({ length: 500 }, (_, index) => out(topic, `k${index}`, 'v'));
      const seen = collect(merge(...records.map((record) => harness.sink.append(record))));
      await only(harness.sink.flush());
      expect(seen.values).toHaveLength(500);
    });

    it('completes a flush at once when nothing is on its way', async () => {
      await only(harness.sink.flush());
      await expect(only(harness.sink.flush())).resolves.toBeUndefined();
    });

    it('writes also when nobody waits for the acknowledgement any more', async () => {
      const topic = await harness.topic(1);
      harness.sink
        .append(out(topic, 'k', 'v'))
        .subscribe()
        .unsubscribe();
      const [record] = await harness.read(topic, 1);
      expect(record?.value?.toString()).toBe('v');
    });
  });
}
