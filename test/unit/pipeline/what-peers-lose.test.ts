import { describe, expect, it } from 'vitest';

import { RingSet } from '../../../src/operators/ring/ring-set.ts';
import type { Decoded } from '../../../src/pipeline/job.ts';
import { Partitions } from '../../../src/pipeline/partitions.ts';
import type { AssignedPartition } from '../../../src/ports/record-source.ts';
import { news, send } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';

const assigned = (epoch: number): AssignedPartition => ({ topic: 'calls', partition: 0, epoch });

function openPartitions() {
  const paused = new Set<AssignedPartition>();
  const rings = new RingSet<AssignedPartition, Decoded>({
    sizeOf: () => 1,
    pause: (partition) => paused.add(partition),
    resume: (partition) => paused.delete(partition),
  });
  return { partitions: new Partitions(rings), paused };
}

const received = (partition: AssignedPartition, offset: number) => ({
  ...{ partition, origin: `o-${offset}`, readAtMs: 0, bytes: 1 },
  record: { topic: 'calls', partition: 0, offset, timestampMs: 0, key: null, value: null, headers: [] },
});

describe('what others lose or repeat', () => {
  it('P4: 200 calls of 2 s are in flight when their partition moves: the API sees each once', () => {
    const bench = new PipelineBench({ upstreams: { feishu: { concurrency: 256, bucketConcurrency: 256 } } });
    const [one, two] = [bench.group.member(), bench.group.member()];
    bench.upstream().script = () => ({ afterMs: 2_000 });
    const [first] = [bench.start(one), bench.start(two)];
    bench.group.give(0, one);
    for (let i = 0; i < 200; i++) bench.call(send(`c-${i}`, `oc_${i}`));
    bench.run(1_000);
    const inFlight = bench.upstream().inFlight;
    bench.group.give(0, two);
    bench.run(60_000);
    expect(inFlight).toBeGreaterThan(0);
    expect(first.settled.length).toBeGreaterThanOrEqual(inFlight);
    expect(bench.upstream().attempts).toHaveLength(200);
    expect(new Set(bench.upstream().effects).size).toBe(200);
    expect(bench.results.map(({ status }) => status)).toEqual(Array<string>(200).fill('ok'));
  });

  it('P6: with every second of 100,000 records open the partition pauses, and a restart runs only the open ones', () => {
    const { partitions, paused } = openPartitions();
    const before = assigned(1);
    partitions.open(before, 0, null);
    let taken = 0;
    while (taken < 100_000 && !paused.has(before)) {
      partitions.take(before, taken);
      if (taken % 2 === 1) partitions.done(received(before, taken));
      taken++;
    }
    expect(taken).toBeLessThan(100_000);
    const [commit] = partitions.commits();
    expect(commit?.offset).toBe(0);
    expect(commit?.metadata.length).toBeLessThanOrEqual(4_096);

    const after = assigned(2);
    const next = openPartitions().partitions;
    next.open(after, commit?.offset ?? -1, commit?.metadata ?? null);
    const again = Array.from({ length: taken }, (_, offset) => offset).filter((offset) => next.take(after, offset));
    expect(again).toEqual(Array.from({ length: Math.ceil(taken / 2) }, (_, i) => 2 * i));
  });

  it('P12: one record that is no call among 3,000 costs nobody anything, and keeps its bytes', () => {
    const bench = new PipelineBench({ upstreams: { news: { concurrency: 256, bucketConcurrency: 256 } } });
    bench.start();
    const poison = Buffer.from([0xff, 0xfe, 0x00, 0x01]);
    for (let i = 0; i < 3_000; i++) {
      if (i === 1_500) bench.raw(poison);
      else bench.call(news(`c-${i}`));
    }
    bench.run(120_000);
    expect(bench.results).toHaveLength(2_999);
    expect(bench.deadLetters).toMatchObject([{ reason: 'undecodable' }]);
    expect(bench.deadLetters[0]?.record.value).toEqual(poison);
    expect(bench.lag).toBe(0);
  });
});
