import { describe, expect, it } from 'vitest';

import { PartitionTable } from '../../../../src/adapters/kafka/partition-table.ts';

const table = () => {
  let epoch = 0;
  return new PartitionTable(() => (epoch += 1));
};
const of = (...numbers: number[]) => new Map([['calls', numbers]]);

describe('PartitionTable', () => {
  it('keeps the same object for a partition that stays with the same member', () => {
    const partitions = table();
    const [first] = partitions.join('m1', of(0, 1)).added;
    const change = partitions.join('m1', of(0, 2));
    expect(change.kept).toEqual([first]);
    expect(change.kept[0]).toBe(first);
    expect(change.lost.map(({ assigned }) => assigned.partition)).toEqual([1]);
    expect(change.added.map(({ assigned }) => assigned)).toEqual([{ topic: 'calls', partition: 2, epoch: 2 }]);
  });

  it('loses everything when the member id changed: another member may have been there', () => {
    const partitions = table();
    partitions.join('m1', of(0, 1));
    const change = partitions.join('m2', of(0, 1));
    expect(change.kept).toEqual([]);
    expect(change.lost).toHaveLength(2);
    expect(change.added.map(({ assigned }) => assigned.epoch)).toEqual([2, 2]);
  });

  it('knows an assignment only as long as it lasts', () => {
    const partitions = table();
    const [held] = partitions.join('m1', of(0)).added;
    expect(held && partitions.current(held.assigned)).toBe(held);
    partitions.join('m1', of());
    const [again] = partitions.join('m1', of(0)).added;
    expect(held && partitions.current(held.assigned)).toBeUndefined();
    expect(again && partitions.current(again.assigned)).toBe(again);
  });

  it('is settled once the place of every partition is known, and a member without partitions at once', () => {
    const partitions = table();
    expect(partitions.settled()).toBe(false);
    const [held] = partitions.join('m1', of(0)).added;
    expect(partitions.settled()).toBe(false);
    if (held) held.next = 7;
    expect(partitions.settled()).toBe(true);
    partitions.join('m1', of());
    expect(partitions.settled()).toBe(true);
    partitions.clear();
    expect(partitions.settled()).toBe(false);
  });
});
