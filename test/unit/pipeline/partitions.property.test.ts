import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { RingSet } from '../../../src/operators/ring/ring-set.ts';
import type { Decoded } from '../../../src/pipeline/job.ts';
import { Partitions } from '../../../src/pipeline/partitions.ts';
import type { Received } from '../../../src/pipeline/received.ts';
import type { AssignedPartition, Commit } from '../../../src/ports/record-source.ts';

type Make = (rings: RingSet<AssignedPartition, Decoded>) => Partitions;
const real: Make = (rings) => new Partitions(rings);

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('take' as const), which: fc.nat({ max: 1 }) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('done' as const), which: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('move' as const), which: fc.nat({ max: 1 }) }) },
  { weight: 2, arbitrary: fc.constant({ do: 'commit' as const }) },
);

/** No commit passes a record that this owner has taken and not finished; a commit is stored at most once. */
const commitsToTheGap = (make: Make) =>
  fc.property(fc.array(step, { minLength: 40, maxLength: 120, size: 'max' }), (steps) => {
    const nothing = (): void => undefined;
    const partitions = make(new RingSet({ sizeOf: () => 1, pause: nothing, resume: nothing }));
    let epoch = 0;
    const next = [0, 0];
    const stored = [0, 0];
    const open = (index: number): AssignedPartition => {
      const partition = { topic: 'calls', partition: index, epoch: ++epoch };
      partitions.open(partition, stored[index] ?? 0, null);
      next[index] = stored[index] ?? 0;
      return partition;
    };
    const owned = [open(0), open(1)];
    const taken: Received[] = [];
    const unfinished = new Set<Received>();
    for (const one of steps) {
      if (one.do === 'take') {
        const partition = owned[one.which];
        if (partition === undefined) return false;
        const offset = next[one.which] ?? 0;
        next[one.which] = offset + 1;
        const received = receive(partition, offset);
        if (partitions.take(partition, offset)) {
          taken.push(received);
          unfinished.add(received);
        }
      } else if (one.do === 'done') {
        const received = taken[one.which % Math.max(1, taken.length)];
        if (received === undefined) continue;
        // What belongs to an assignment that is over must move nothing.
        partitions.done(received);
        unfinished.delete(received);
      } else if (one.do === 'move') {
        const partition = owned[one.which];
        if (partition === undefined) return false;
        partitions.close(partition);
        owned[one.which] = open(one.which);
      } else {
        const commits: readonly Commit[] = partitions.commits();
        for (const { partition, offset } of commits) {
          if (owned[partition.partition] !== partition) return false;
          const open = [...unfinished].filter((received) => received.partition === partition);
          if (open.some(({ record }) => record.offset < offset)) return false;
          // Above the first gap nothing is held back: it is the gap itself, or the end.
          const least = Math.min(next[partition.partition] ?? 0, ...open.map(({ record }) => record.offset));
          if (offset !== least) return false;
          stored[partition.partition] = offset;
        }
        partitions.committed(commits);
        if (partitions.commits().length > 0) return false;
      }
    }
    return true;
  });
const runs = { numRuns: 300, seed: 7 };

const receive = (partition: AssignedPartition, offset: number): Received => ({
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

const burst = fc.record({
  take: fc.integer({ min: 0, max: 6_000 }),
  ends: fc.integer({ min: 0, max: 1_200 }),
  apart: fc.integer({ min: 1, max: 6 }),
  from: fc.nat(),
});

/** However scattered what is done is, a partition that runs takes its next record, and one that is paused goes on in the end. */
const goesOn = (make: Make) =>
  fc.property(fc.array(burst, { minLength: 4, maxLength: 16, size: 'max' }), (bursts) => {
    const source = { paused: false };
    const partitions = make(
      new RingSet({
        sizeOf: () => 1,
        pause: () => void (source.paused = true),
        resume: () => void (source.paused = false),
      }),
    );
    const partition = { topic: 'calls', partition: 0, epoch: 1 };
    partitions.open(partition, 0, null);
    let next = 0;
    let open: number[] = [];
    for (const { take, ends, apart, from } of bursts) {
      for (let n = 0; n < take && !source.paused; n++) {
        partitions.take(partition, next);
        open.push(next++);
      }
      const first = from % Math.max(1, open.length);
      const ending = (at: number): boolean => at >= first && at < first + ends * apart && (at - first) % apart === 0;
      for (const offset of open.filter((_, at) => ending(at))) partitions.done(receive(partition, offset));
      open = open.filter((_, at) => !ending(at));
    }
    for (const offset of open) partitions.done(receive(partition, offset));
    const [commit] = partitions.commits();
    return !source.paused && (next === 0 || commit?.offset === next);
  });

describe('Partitions, however scattered what is done is', () => {
  const fewer = { numRuns: 40, seed: 7 };

  it('take each record of a partition that runs, and let a paused one go on', () => {
    fc.assert(goesOn(real), fewer);
  });

  it('are caught when they never let one go on', () => {
    const stuck: Make = (rings) => {
      rings.release = () => undefined;
      return real(rings);
    };
    expect(fc.check(goesOn(stuck), fewer).failed).toBe(true);
  });
});

describe('Partitions, invariant 27', () => {
  it('commits to the first gap of the assignment that runs, whatever ends when', () => {
    fc.assert(commitsToTheGap(real), runs);
  });

  it.each<[string, Make]>([
    [
      'counts what an earlier assignment finished',
      (rings) =>
        new (class extends Partitions {
          readonly #latest = new Map<number, AssignedPartition>();
          override open(partition: AssignedPartition, offset: number, metadata: string | null): void {
            this.#latest.set(partition.partition, partition);
            super.open(partition, offset, metadata);
          }
          override done(received: Received): void {
            super.done({
              ...received,
              partition: this.#latest.get(received.partition.partition) ?? received.partition,
            });
          }
        })(rings),
    ],
    [
      'commits one too far',
      (rings) =>
        new (class extends Partitions {
          override commits(): Commit[] {
            return super.commits().map((commit) => ({ ...commit, offset: commit.offset + 1 }));
          }
        })(rings),
    ],
    [
      'lags behind',
      (rings) =>
        new (class extends Partitions {
          override commits(): Commit[] {
            return super.commits().map((commit) => ({ ...commit, offset: Math.max(0, commit.offset - 1) }));
          }
        })(rings),
    ],
    [
      'offers a commit again that is stored',
      (rings) =>
        new (class extends Partitions {
          override committed(): void {
            // forgets it
          }
        })(rings),
    ],
  ])('is caught when it %s', (_, mutant) => {
    expect(fc.check(commitsToTheGap(mutant), runs).failed).toBe(true);
  });
});
