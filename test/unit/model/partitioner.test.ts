import { describe, expect, it } from 'vitest';

import { murmur2, partitionFor } from '../../../src/model/partitioner.ts';

describe('partitionFor', () => {
  // From the tests of Kafka's Java client.
  it.each([
    ['21', -973_932_308],
    ['foobar', -790_332_482],
    ['a-little-bit-long-string', -985_981_536],
    ['a-little-bit-longer-string', -1_486_304_829],
    ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58_897_971],
    ['abc', 479_470_107],
  ])('hashes %s as the Java client does', (key, hash) => {
    expect(murmur2(Buffer.from(key))).toBe(hash);
  });

  it('chooses a partition that exists for keys of any length, and spreads them', () => {
    const counts = new Map<number, number>();
    for (let i = 0; i < 12_000; i++) {
      const partition = partitionFor(Buffer.from(`key-${i}`.padEnd(i % 37, '.')), 12);
      counts.set(partition, (counts.get(partition) ?? 0) + 1);
    }
    expect([...counts.keys()].sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    expect(Math.min(...counts.values())).toBeGreaterThan(850);
    expect(partitionFor(Buffer.alloc(0), 12)).toBe(partitionFor(Buffer.alloc(0), 12));
  });
});
