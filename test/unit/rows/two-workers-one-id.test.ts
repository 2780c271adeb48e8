import { describe, expect, it } from 'vitest';

import { partitionFor } from '../../../src/model/partitioner.ts';
import { react, send } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';

/** A key of each of two partitions. */
const keys = [0, 1].map((partition) =>
  Array.from({ length: 50 }, (_, i) => `k${i}`).find((key) => partitionFor(Buffer.from(key), 2) === partition),
);

describe('two workers with the same id', () => {
  it.each([
    ['a call with a key of the platform', send('same', 'oc_1')],
    ['a call without one', react('same')],
  ])('S000-35: %s is made once; the second waits for the first and reports duplicate', (_what, call) => {
    const bench = new PipelineBench({ partitions: 2 });
    const members = [bench.group.member(), bench.group.member()];
    const workers = members.map((member) => bench.start(member));
    bench.upstream().script = () => ({ afterMs: 4_000 });
    for (const key of keys) bench.call(call, key ?? null);
    for (const [partition, member] of members.entries()) bench.group.give(partition, member);

    bench.run(3_000);
    expect(bench.upstream().attempts).toHaveLength(1);
    expect(bench.results).toEqual([]);

    bench.run(5_000);
    expect(bench.results.map(({ id, status }) => [id, status])).toEqual([
      ['same', 'ok'],
      ['same', 'duplicate'],
    ]);
    expect(bench.upstream().effects).toEqual(['same']);
    expect(workers.map(({ settled }) => settled.length)).toEqual([1, 1]);
  });
});
