import { describe, expect, it } from 'vitest';

import { type Embedded, openEmbedded } from '../../../../src/adapters/embedded/embedded.ts';
import { MemoryStore } from '../../../../src/adapters/embedded/memory-store.ts';
import type { BlobLog } from '../../../../src/adapters/embedded/store.ts';
import { type EmbeddedTopic, Topics } from '../../../../src/adapters/embedded/topics.ts';
import { collect } from '../../../support/collect.ts';
import { only } from '../../../support/only.ts';
import { noLogger } from '../../../support/silent.ts';
import { VirtualTime } from '../../../support/virtual-time.ts';

interface House {
  readonly time: VirtualTime;
  readonly house: Embedded;
  readonly write: (...values: string[]) => void;
}

function openHouse(topic: Partial<EmbeddedTopic> = {}): House {
  const time = new VirtualTime();
  const house = openEmbedded({
    data: 'memory',
    clock: time,
    timers: time,
    logger: noLogger,
    topics: [{ name: 'calls', partitions: 1, ...topic }],
    nextTurn: (task) => void time.after(0, task),
  });
  const write = (...values: string[]): void => {
    for (const value of values) {
      void only(house.sink.append({ topic: 'calls', key: Buffer.from(value), value: Buffer.from(value), headers: [] }));
    }
  };
  return { time, house, write };
}

const valuesOf = (records: readonly { value: Buffer | null }[]): string[] => records.map(({ value }) => String(value));

describe('embedded topics', () => {
  it('drop records after their retention and go on with the offsets', () => {
    const { time, house, write } = openHouse({ retentionMs: 60_000 });
    write('a', 'b');
    time.advance(50_000);
    write('c');
    time.advance(20_000);
    expect(house.read('calls', 0, 1)).toBeUndefined();
    expect(house.read('calls', 0, 2)?.value?.toString()).toBe('c');
    time.advance(60_000);
    expect(house.read('calls', 0, 2)).toBeUndefined();
    write('d');
    expect(house.read('calls', 0, 3)?.value?.toString()).toBe('d');
  });

  it('keep an old record for as long as a reader of this process has not committed it', () => {
    const { time, house, write } = openHouse({ retentionMs: 60_000 });
    write('a', 'b');
    const source = house.source('workers', ['calls']);
    const { values: events, subscription } = collect(source.event$);
    time.advance(3_600_000);
    expect(house.read('calls', 0, 0)?.value?.toString()).toBe('a');
    const { partition } = events[0]!;
    void only(source.commit([{ partition, offset: 1, metadata: '' }]));
    time.advance(20_000);
    expect(house.read('calls', 0, 0)).toBeUndefined();
    expect(house.read('calls', 0, 1)?.value?.toString()).toBe('b');
    subscription.unsubscribe();
    time.advance(20_000);
    expect(house.read('calls', 0, 1)).toBeUndefined();
  });

  it('drop the oldest records of a partition beyond its bytes', () => {
    const { time, house, write } = openHouse({ retentionBytes: 20_000 });
    for (let i = 0; i < 300; i++) write(`${'x'.repeat(100)}${i}`);
    time.advance(20_000);
    const { values } = collect(house.tail('calls', { last: 1_000 }));
    const bytes = values.reduce((sum, { key, value }) => sum + 26 + (key?.length ?? 0) + (value?.length ?? 0), 0);
    expect(bytes).toBeLessThanOrEqual(20_000);
    expect(bytes).toBeGreaterThan(19_500);
    expect(values.at(-1)?.offset).toBe(299);
  });

  it('let a source that comes after the retention begin at the first record that is left', () => {
    const { time, house, write } = openHouse({ retentionMs: 60_000 });
    write('a', 'b');
    time.advance(120_000);
    write('c');
    const { values: events } = collect(house.source('late', ['calls']).event$);
    time.advance(10);
    expect(events[0]).toMatchObject({ kind: 'assigned', fromOffset: 2 });
    expect(house.lag('late', ['calls'])).toEqual([{ topic: 'calls', partition: 0, lag: 1 }]);
  });

  it('cannot be used under a name that was not declared', async () => {
    const { house } = openHouse();
    const record = { topic: 'typo', key: null, value: null, headers: [] };
    await expect(only(house.sink.append(record))).rejects.toMatchObject({ code: 'topic_missing' });
    await expect(only(house.tail('typo'))).rejects.toMatchObject({ code: 'topic_missing' });
    await expect(only(house.source('g', ['typo']).event$)).rejects.toMatchObject({ code: 'topic_missing' });
  });

  it('are dealt out in slices, so that a long backlog does not hold up the event loop', () => {
    const { time, house, write } = openHouse();
    write(...Array.from({ length: 1_000 }, (_, i) => String(i)));
    const { values: events } = collect(house.source('workers', ['calls']).event$);
    const seen: number[] = [];
    // Each turn is one task of the virtual clock; one of ours lies between any two of them.
    const look = (): void => {
      seen.push(events.filter(({ kind }) => kind === 'record').length);
      if (seen.length < 10) time.after(0, look);
    };
    time.after(0, look);
    time.advance(1);
    expect(seen.at(-1)).toBe(1_000);
    const steps = seen.map((count, i) => count - (seen[i - 1] ?? 0));
    expect(Math.max(...steps)).toBeLessThanOrEqual(288);
  });
});

describe('tail', () => {
  it('gives the newest records, oldest of them first, and completes', () => {
    const { time, house, write } = openHouse({ partitions: 3 });
    for (const value of ['a', 'b', 'c', 'd', 'e']) {
      write(value);
      time.advance(1);
    }
    const seen = collect(house.tail('calls', { last: 3 }));
    expect(valuesOf(seen.values)).toEqual(['c', 'd', 'e']);
    expect(seen.ending).toBe('complete');
    expect(valuesOf(collect(house.tail('calls', { last: 0 })).values)).toEqual([]);
  });

  it('follows what is appended until it is unsubscribed', () => {
    const { time, house, write } = openHouse({ partitions: 3 });
    write('a', 'b');
    const seen = collect(house.tail('calls', { last: 1, follow: true }));
    write('c');
    time.advance(1);
    write('d');
    time.advance(1);
    expect(valuesOf(seen.values)).toHaveLength(3);
    expect(valuesOf(seen.values).slice(1)).toEqual(['c', 'd']);
    seen.subscription.unsubscribe();
    write('e');
    time.advance(1);
    expect(seen.values).toHaveLength(3);
  });

  it('follows a long burst to its end', () => {
    const { time, house, write } = openHouse({ partitions: 3 });
    const seen = collect(house.tail('calls', { last: 0, follow: true }));
    write(...Array.from({ length: 1_000 }, (_, i) => String(i)));
    time.advance(10);
    expect(seen.values).toHaveLength(1_000);
  });
});

describe('what retention drops', () => {
  it('is dropped once, however long the disk takes nothing', () => {
    const time = new VirtualTime();
    let removals = 0;
    const held: (() => void)[] = [];
    class StuckStore extends MemoryStore {
      override log(topic: string, partition: number): BlobLog {
        const log = super.log(topic, partition);
        return Object.assign(log, { remove: () => (removals += 1) });
      }

      override whenDurable(done: () => void): void {
        held.push(done);
      }
    }
    const topics = new Topics(
      new StuckStore(),
      [{ name: 'calls', partitions: 1, retentionMs: 1_000 }],
      time,
      time,
      noLogger,
    );
    const record = { topic: 'calls', key: null, value: Buffer.from('x'), headers: [] };
    for (let i = 0; i < 600; i++) topics.get('calls').partitions[0]?.append(record, 0, () => undefined);
    time.advance(3_600_000);
    expect(removals).toBe(500);
    topics.close();
  });
});
