import { EMPTY, NEVER, type Observable, of, Subject } from 'rxjs';
import { describe, expect, it } from 'vitest';

import { RingSet } from '../../../../src/operators/ring/ring-set.ts';
import type { Decoded, Settled } from '../../../../src/pipeline/job.ts';
import { Partitions } from '../../../../src/pipeline/partitions.ts';
import { commit } from '../../../../src/pipeline/stages/commit.ts';
import type { AssignedPartition, Commit, RecordSource } from '../../../../src/ports/record-source.ts';
import { VirtualTime } from '../../../support/virtual-time.ts';

const partition: AssignedPartition = { topic: 'calls', partition: 0, epoch: 1 };
const commitEveryMs = 500;

/** The stage over one partition; what the source answers to each commit is scripted, then everything is stored. */
function stage(answers: readonly Observable<void>[]) {
  const time = new VirtualTime();
  const rings = new RingSet<AssignedPartition, Decoded>({
    sizeOf: () => 1,
    pause: () => undefined,
    resume: () => undefined,
  });
  const partitions = new Partitions(rings);
  partitions.open(partition, 0, null);
  const asked: number[][] = [];
  const rebalancing$ = new Subject<void>();
  const source: RecordSource = {
    clusterId: () => 'cluster',
    event$: NEVER,
    rebalancing$,
    pause: () => undefined,
    resume: () => undefined,
    ready: () => true,
    commit: (commits: readonly Commit[]) => {
      asked.push(commits.map(({ offset }) => offset));
      return answers[asked.length - 1] ?? of(undefined);
    },
  };
  const settled$ = new Subject<Settled>();
  let completed = false;
  settled$.pipe(commit({ partitions, source, timers: time, commitEveryMs, commitEveryRecords: 1_000 })).subscribe({
    error: (error: unknown) => {
      throw error;
    },
    complete: () => (completed = true),
  });
  return {
    asked,
    rebalancing$,
    time,
    settled$,
    completed: () => completed,
    settle: (offset: number) => {
      partitions.take(partition, offset);
      const record = { topic: 'calls', partition: 0, offset, timestampMs: 0, key: null, value: null, headers: [] };
      settled$.next({
        received: { partition, record, origin: `o${offset}`, readAtMs: 0, bytes: 0 },
        ending: 'skipped',
      });
    },
  };
}

describe('commit', () => {
  it('commits again what was not stored, although nothing ends any more', () => {
    const { asked, time, settle } = stage([EMPTY]);
    settle(0);
    time.advance(commitEveryMs);
    time.advance(commitEveryMs);

    expect(asked).toEqual([[1], [1]]);
  });

  it('commits nothing again once it is stored', () => {
    const { asked, time, settle } = stage([]);
    settle(0);
    time.advance(commitEveryMs * 5);

    expect(asked).toEqual([[1]]);
  });

  it('ends with its stream, also when the last commit is not stored', () => {
    const { asked, settle, settled$, completed } = stage([EMPTY]);
    settle(0);
    settled$.complete();

    expect([asked, completed()]).toEqual([[[1]], true]);
  });

  it('commits before partitions move, and once more behind a commit that was on its way', () => {
    const slow$ = new Subject<void>();
    const { asked, settle, rebalancing$ } = stage([slow$]);
    settle(0);
    rebalancing$.next();
    settle(1);
    rebalancing$.next();
    expect(asked).toEqual([[1]]);
    slow$.next();
    slow$.complete();
    expect(asked).toEqual([[1], [2]]);
  });
});
