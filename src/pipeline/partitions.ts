import type { RingSet } from '../operators/ring/ring-set.ts';
import type { AssignedPartition, Commit } from '../ports/record-source.ts';

import { decodeDone, encodeDone } from './commit-metadata.ts';
import { OffsetTracker } from './offset-tracker.ts';
import type { Received } from './received.ts';

interface Held {
  readonly tracker: OffsetTracker;
  /** Offsets that an earlier owner finished above its watermark: not to be done again. */
  readonly finishedBefore: Set<number>;
  committed: number;
  committedMetadata: string;
}

/** What of the rings partitions open, close and hold. */
type Rings = Pick<
  RingSet<AssignedPartition, { readonly received: Pick<Received, 'record'> }>,
  'open' | 'drop' | 'hold' | 'release' | 'peek'
>;

/** Reason under which a partition is paused while too much of it is unfinished. */
const tooFarAhead = 'commit-distance';

/**
 * The partitions that are ours, and what of each is done. Completions of a partition that was lost meanwhile count for
 * nothing: the object of the assignment is the key, so an old one cannot be mistaken for a new one.
 */
export class Partitions {
  readonly #held = new Map<AssignedPartition, Held>();
  readonly #rings: Rings;
  #doneSinceCommit = 0;

  constructor(rings: Rings) {
    this.#rings = rings;
  }

  /** A partition was given to us. */
  open(partition: AssignedPartition, fromOffset: number, metadata: string | null): void {
    const finishedBefore = decodeDone(fromOffset, metadata);
    const tracker = new OffsetTracker(fromOffset);
    this.#held.set(partition, { tracker, finishedBefore, committed: fromOffset, committedMetadata: metadata ?? '' });
    this.#rings.open(partition);
  }

  /** A partition was taken from us. Its unstarted records are forgotten: the next owner reads them. */
  close(partition: AssignedPartition): void {
    this.#held.delete(partition);
    this.#rings.drop(partition);
  }

  /** Whether the assignment under which a record was read still holds. */
  holds(partition: AssignedPartition): boolean {
    return this.#held.has(partition);
  }

  /**
   * Registers a record that was read. `false`: it needs no work, because an earlier owner finished it or the partition
   * is no longer ours. Pauses the partition when too much of it is unfinished.
   */
  take(partition: AssignedPartition, offset: number): boolean {
    const held = this.#held.get(partition);
    if (held === undefined) return false;
    held.tracker.taken(offset);
    const finished = held.finishedBefore.delete(offset);
    if (finished) held.tracker.done(offset);
    if (held.tracker.full) this.#rings.hold(partition, tooFarAhead);
    return !finished;
  }

  /** Whether all of a partition up to that offset has been read and has left its ring. */
  passed(topic: string, partition: number, offset: number): boolean {
    for (const [assigned, { tracker }] of this.#held) {
      if (assigned.topic !== topic || assigned.partition !== partition) continue;
      const first = this.#rings.peek(assigned)?.received.record.offset ?? Infinity;
      return tracker.next > offset && first > offset;
    }
    return false;
  }

  /** A record's terminal record is durable. */
  done({ partition, record }: Pick<Received, 'partition' | 'record'>): void {
    const held = this.#held.get(partition);
    if (held === undefined) return;
    held.tracker.done(record.offset);
    this.#doneSinceCommit++;
    // A record that ends apart from the others can be one stretch too many for the metadata of a commit.
    if (held.tracker.full) this.#rings.hold(partition, tooFarAhead);
    else if (held.tracker.roomy) this.#rings.release(partition, tooFarAhead);
  }

  /** Records ended since {@link commits} was last asked. */
  get doneSinceCommit(): number {
    return this.#doneSinceCommit;
  }

  /** What has moved since the last commit: watermark and what is done above it. */
  commits(): Commit[] {
    this.#doneSinceCommit = 0;
    const commits: Commit[] = [];
    for (const [partition, held] of this.#held) {
      const offset = held.tracker.watermark;
      const metadata = encodeDone(offset, doneAbove(held));
      if (offset === held.committed && metadata === held.committedMetadata) continue;
      commits.push({ partition, offset, metadata });
    }
    return commits;
  }

  /** Those commits are stored. */
  committed(commits: readonly Commit[]): void {
    for (const { partition, offset, metadata } of commits) {
      const held = this.#held.get(partition);
      if (held === undefined) continue;
      held.committed = offset;
      held.committedMetadata = metadata;
    }
  }

  /** Unfinished distance per partition, for metrics and people. */
  *stats(): Iterable<{ readonly partition: AssignedPartition; readonly distance: number; readonly watermark: number }> {
    for (const [partition, { tracker }] of this.#held) {
      yield { partition, distance: tracker.distance, watermark: tracker.watermark };
    }
  }
}

/** Done above the watermark, by us or by an earlier owner: also what we have not read again yet, for others may come first. */
function* doneAbove({ tracker, finishedBefore }: Held): Iterable<number> {
  yield* tracker.doneAbove();
  yield* finishedBefore;
}
