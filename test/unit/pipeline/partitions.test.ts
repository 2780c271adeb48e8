import { describe, expect, it } from 'vitest';

import { RingSet } from '../../../src/operators/ring/ring-set.ts';
import { encodeDone } from '../../../src/pipeline/commit-metadata.ts';
import type { Decoded } from '../../../src/pipeline/job.ts';
import { trackerCapacity } from '../../../src/pipeline/offset-tracker.ts';
import { Partitions } from '../../../src/pipeline/partitions.ts';
import type { Received } from '../../../src/pipeline/received.ts';
import type { AssignedPartition } from '../../../src/ports/record-source.ts';

function world() {
  const told: string[] = [];
  const rings = new RingSet<AssignedPartition, Decoded>({
    sizeOf: () => 1,
    pause: ({ partition }) => told.push(`pause ${partition}`),
    resume: ({ partition }) => told.push(`resume ${partition}`),
  });
  return { partitions: new Partitions(rings), told };
}

const assigned = (partition: number, epoch = 1): AssignedPartition => ({ topic: 'calls', partition, epoch });
const received = (partition: AssignedPartition, offset: number): Received => ({
  partition,
  origin: '',
  readAtMs: 0,
  bytes: 0,
  record: {
    topic: 'calls',
    partition: partition.partition,
    offset,
    timestampMs: 0,
    key: null,
    value: null,
    headers: [],
  },
});

describe('Partitions', () => {
  it('K31: pauses exactly the partition that is too far ahead of its first unfinished record, and resumes it', () => {
    const { partitions, told } = world();
    const [far, near] = [assigned(0), assigned(1)];
    partitions.open(far, 0, null);
    partitions.open(near, 0, null);
    partitions.take(near, 0);
    for (let offset = 0; offset < trackerCapacity; offset++) partitions.take(far, offset);
    expect(told).toEqual(['pause 0']);
    for (let offset = 1; offset < trackerCapacity; offset++) partitions.done(received(far, offset));
    expect(told).toEqual(['pause 0']);
    partitions.done(received(far, 0));
    expect(told).toEqual(['pause 0', 'resume 0']);
    expect(partitions.commits()).toMatchObject([{ offset: trackerCapacity, metadata: '' }]);
  });

  it('pauses a partition that a record which ends fills, takes what was on its way, and resumes it well below', () => {
    const { partitions, told } = world();
    const own = assigned(0);
    partitions.open(own, 0, null);
    for (let offset = 0; offset < 9_000; offset++) partitions.take(own, offset);
    for (let offset = 1; offset < 1_199; offset += 2) partitions.done(received(own, offset));
    expect(told).toEqual([]);
    for (let offset = 1_199; offset < 1_300; offset += 2) partitions.done(received(own, offset));
    expect(told).toEqual(['pause 0']);
    expect(partitions.take(own, 9_000)).toBe(true);
    for (let offset = 0; offset < 300; offset += 2) partitions.done(received(own, offset));
    expect(told).toEqual(['pause 0']);
    for (let offset = 300; offset < 500; offset += 2) partitions.done(received(own, offset));
    expect(told).toEqual(['pause 0', 'resume 0']);
  });

  it('counts nothing for an assignment that is over, also when the same partition came back', () => {
    const { partitions } = world();
    const [old, back] = [assigned(0, 1), assigned(0, 2)];
    partitions.open(old, 5, null);
    partitions.take(old, 5);
    partitions.close(old);
    partitions.open(back, 5, null);
    partitions.take(back, 5);
    partitions.done(received(old, 5));
    expect([partitions.holds(old), partitions.holds(back)]).toEqual([false, true]);
    expect(partitions.commits()).toEqual([]);
    expect(partitions.take(old, 6)).toBe(false);
  });

  it('does not give out again what an earlier owner finished above its watermark', () => {
    const { partitions } = world();
    const own = assigned(0);
    partitions.open(own, 10, encodeDone(10, [11, 13]));
    expect([10, 11, 12, 13].map((offset) => partitions.take(own, offset))).toEqual([true, false, true, false]);
    partitions.done(received(own, 10));
    expect(partitions.commits()).toMatchObject([{ offset: 12 }]);
  });

  it('commits what an earlier owner finished above the gap, also before it was read again', () => {
    const { partitions } = world();
    const own = assigned(0);
    partitions.open(own, 10, encodeDone(10, [12, 40]));
    for (const offset of [10, 11]) partitions.take(own, offset);
    partitions.done(received(own, 11));
    expect(partitions.commits()).toMatchObject([{ offset: 10, metadata: encodeDone(10, [11, 12, 40]) }]);
    partitions.done(received(own, 10));
    expect(partitions.commits()).toMatchObject([{ offset: 12, metadata: encodeDone(12, [12, 40]) }]);
  });

  it('offers a commit until it is stored, and then only what moved', () => {
    const { partitions } = world();
    const own = assigned(0);
    partitions.open(own, 0, null);
    for (const offset of [0, 1, 2]) partitions.take(own, offset);
    partitions.done(received(own, 0));
    partitions.done(received(own, 2));
    const first = partitions.commits();
    expect(partitions.doneSinceCommit).toBe(0);
    expect(partitions.commits()).toEqual(first);
    partitions.committed(first);
    expect(partitions.commits()).toEqual([]);
    partitions.done(received(own, 1));
    expect(partitions.commits()).toMatchObject([{ offset: 3, metadata: '' }]);
  });
});
