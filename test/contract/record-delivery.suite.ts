import { describe, expect, it } from 'vitest';

import { named, type SourceHarness, SourceStage, texts } from './source-stage.ts';

/** What every record source promises about records. */
export function recordDeliverySuite(name: string, open: () => Promise<SourceHarness>): void {
  describe(`a record source delivers (${name})`, () => {
    const stage = new SourceStage(open);

    it('tells that a partition is assigned before its first record, with the offset of that record', async () => {
      const topic = await stage.harness.topic(1);
      await stage.harness.write(topic, texts(0, 3));
      const { reader } = stage.join(stage.group(), [topic]);
      await reader.until(() => reader.records.length === 3);
      const [first] = reader.events;
      expect(first).toMatchObject({ kind: 'assigned', fromOffset: 0, metadata: null });
      expect(first?.partition).toMatchObject({ topic, partition: 0 });
      expect(reader.events.slice(1).every((event) => event.partition === first?.partition)).toBe(true);
    });

    it('delivers the records of a partition in the order of their offsets, without a gap', async () => {
      const topic = await stage.harness.topic(3);
      const records = Array.from({ length: 300 }, (_, i) => ({
        key: Buffer.from(`k${i % 7}`),
        value: Buffer.from(`${i}`),
      }));
      await stage.harness.write(topic, records);
      const { reader } = stage.join(stage.group(), [topic]);
      await reader.until(() => reader.records.length === 300);
      for (const partition of [0, 1, 2]) {
        const offsets = reader.records.filter((one) => one.partition === partition).map(({ offset }) => offset);
        expect(offsets).toEqual(offsets.map((_, index) => index));
        const values = reader.valuesOf(partition).map(Number);
        expect(values).toEqual([...values].sort((a, b) => a - b));
      }
    });

    it('goes on with what is written later', async () => {
      const topic = await stage.harness.topic(1);
      const { reader } = stage.join(stage.group(), [topic]);
      await reader.until(() => reader.partitions.length === 1);
      await stage.harness.write(topic, texts(0, 2));
      await reader.until(() => reader.records.length === 2);
      await stage.harness.write(topic, texts(2, 4));
      await reader.until(() => reader.records.length === 4);
      expect(reader.values).toEqual(named(0, 4));
    });

    it('delivers nothing more of a partition that is paused inside next, and loses nothing of it', async () => {
      const topic = await stage.harness.topic(1);
      await stage.harness.write(topic, texts(0, 100));
      const { reader } = stage.join(stage.group(), [topic], (partition, record) => {
        if (record.offset === 9) reader.source.pause(partition);
      });
      await reader.until(() => reader.records.length === 10);
      await stage.harness.write(topic, texts(100, 101));
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(reader.values).toEqual(named(0, 10));
      reader.source.resume(reader.partition());
      await reader.until(() => reader.records.length === 101);
      expect(reader.values).toEqual(named(0, 101));
    });

    it('goes on with other partitions while one is paused', async () => {
      const topic = await stage.harness.topic(2);
      const { reader } = stage.join(stage.group(), [topic]);
      await reader.until(() => reader.partitions.length === 2);
      reader.source.pause(reader.partition(0));
      const records = Array.from({ length: 40 }, (_, i) => ({ key: Buffer.from(`k${i}`), value: Buffer.from(`${i}`) }));
      await stage.harness.write(topic, records);
      await reader.until(() => reader.valuesOf(1).length > 0);
      expect(reader.valuesOf(0)).toEqual([]);
      reader.source.resume(reader.partition(0));
      await reader.until(() => reader.records.length === 40);
      expect(new Set(reader.values).size).toBe(40);
    });

    it('K18, D9: delivers keys, tombstones and repeated headers as they were written, and copies of all bytes', async () => {
      const topic = await stage.harness.topic(1);
      const header = (name: string, value: string) => [name, Buffer.from(value)] as const;
      await stage.harness.write(topic, [
        { key: null, value: Buffer.from([0, 255, 10]) },
        { key: Buffer.from('gone'), value: null },
        {
          key: Buffer.alloc(0),
          value: Buffer.alloc(0),
          headers: [header('h', '1'), header('other', ''), header('h', '2')],
        },
      ]);
      const { reader } = stage.join(stage.group(), [topic]);
      await reader.until(() => reader.records.length === 3);
      const [unkeyed, tombstone, empty] = reader.records;
      expect(unkeyed).toMatchObject({ key: null, value: Buffer.from([0, 255, 10]), headers: [] });
      expect(tombstone).toMatchObject({ key: Buffer.from('gone'), value: null });
      expect(empty).toMatchObject({ key: Buffer.alloc(0), value: Buffer.alloc(0) });
      const values = empty?.headers.filter(([name]) => name === 'h').map(([, value]) => value.toString());
      expect(values).toEqual(['1', '2']);
      expect(empty?.headers.find(([name]) => name === 'other')?.[1]).toEqual(Buffer.alloc(0));
      for (const { value } of reader.records) expect(value?.buffer.byteLength ?? 0).toBeLessThan(16_384);
    });
  });
}
