import { LarkspurError } from '../../model/errors.ts';
import type { InRecord } from '../../model/record.ts';
import type { AssignedPartition, Commit, RecordSource } from '../../ports/record-source.ts';
import { OffsetTracker } from '../offset-tracker.ts';

interface Held {
  readonly tracker: OffsetTracker;
  readonly end: number;
  readonly records: InRecord[];
  paused: boolean;
  /** Nothing further of it is wanted. */
  read: boolean;
  committed: number;
}

const highItems = 256;
const lowItems = 64;
const tag = 'w1';

/** The partitions of a walk: how far each goes, what of it waits, what is done. Pauses a partition of which enough waits. */
export class Stretches {
  readonly #source: Pick<RecordSource, 'pause' | 'resume'>;
  readonly #ends: ReadonlyMap<number, number>;
  readonly #about: string;
  readonly #held = new Map<AssignedPartition, Held>();

  constructor(source: Pick<RecordSource, 'pause' | 'resume'>, ends: ReadonlyMap<number, number>, about: string) {
    this.#source = source;
    this.#ends = ends;
    this.#about = about;
  }

  /** @throws LarkspurError `bad_request` when the walk of this name is about something else */
  open(partition: AssignedPartition, fromOffset: number, metadata: string | null): void {
    const [version, end, about] = (metadata ?? '').split(':');
    const begun = version === tag && end !== undefined;
    if (begun && about !== this.#about) {
      throw new LarkspurError('bad_request', 'a run of this name was begun with another filter', {
        cure: 'give the filter that it was begun with, or another name',
      });
    }
    const held: Held = {
      tracker: new OffsetTracker(fromOffset),
      end: begun ? Number(end) : (this.#ends.get(partition.partition) ?? fromOffset),
      records: [],
      paused: false,
      read: false,
      // What was begun without a commit has its end written down at once, so that a restart does not go further.
      committed: begun ? fromOffset : -1,
    };
    this.#held.set(partition, held);
    if (fromOffset >= held.end) this.#endReading(partition, held);
  }

  close(partition: AssignedPartition): void {
    this.#held.delete(partition);
  }

  /** Registers a record; `false`: it lies behind the end. */
  take(partition: AssignedPartition, { offset }: InRecord): boolean {
    const held = this.#held.get(partition);
    if (held === undefined || held.read) return false;
    const wanted = offset < held.end;
    if (wanted) held.tracker.taken(offset);
    if (offset + 1 >= held.end) this.#endReading(partition, held);
    return wanted;
  }

  /** Puts a record that was taken at the end of its line. */
  queue(partition: AssignedPartition, record: InRecord): void {
    const held = this.#held.get(partition);
    if (held === undefined) return;
    held.records.push(record);
    this.#steer(partition, held);
  }

  /** The next record, partitions in turn; `undefined`: none waits. */
  next(): { readonly partition: AssignedPartition; readonly record: InRecord } | undefined {
    for (const [partition, held] of this.#held) {
      const record = held.records.shift();
      if (record === undefined) continue;
      // To the end of the line of partitions.
      this.#held.delete(partition);
      this.#held.set(partition, held);
      this.#steer(partition, held);
      return { partition, record };
    }
    return undefined;
  }

  /** A record that was taken is done; one of a partition that was lost meanwhile counts for nothing. */
  done(partition: AssignedPartition, offset: number): void {
    const held = this.#held.get(partition);
    if (held === undefined) return;
    held.tracker.done(offset);
    this.#steer(partition, held);
  }

  /** Lets go of what waits. */
  forget(): void {
    for (const held of this.#held.values()) held.records.length = 0;
  }

  /** Records that wait. */
  get queued(): number {
    let count = 0;
    for (const { records } of this.#held.values()) count += records.length;
    return count;
  }

  /** Whether every partition of the walk is ours. */
  get allHere(): boolean {
    const here = new Set([...this.#held.keys()].map(({ partition }) => partition));
    return [...this.#ends.keys()].every((partition) => here.has(partition));
  }

  /** Whether every partition is done to its end. */
  get finished(): boolean {
    if (!this.allHere) return false;
    return [...this.#held.values()].every(({ read, tracker }) => read && tracker.distance === 0);
  }

  /** Offsets between what is done and the ends. */
  get left(): number {
    let left = 0;
    for (const { end, tracker } of this.#held.values()) left += Math.max(0, end - tracker.watermark);
    return left;
  }

  /** What has moved since the last commit that was stored. */
  commits(): Commit[] {
    const commits: Commit[] = [];
    for (const [partition, held] of this.#held) {
      const offset = Math.min(held.tracker.watermark, held.end);
      if (offset === held.committed) continue;
      commits.push({ partition, offset, metadata: `${tag}:${held.end}:${this.#about}` });
    }
    return commits;
  }

  /** Those commits are stored. */
  stored(commits: readonly Commit[]): void {
    for (const { partition, offset } of commits) {
      const held = this.#held.get(partition);
      if (held !== undefined) held.committed = offset;
    }
  }

  #endReading(partition: AssignedPartition, held: Held): void {
    held.read = true;
    this.#pause(partition, held);
  }

  #steer(partition: AssignedPartition, held: Held): void {
    const { records, tracker } = held;
    if (records.length >= highItems || tracker.full) this.#pause(partition, held);
    else if (held.paused && !held.read && records.length <= lowItems) {
      held.paused = false;
      this.#source.resume(partition);
    }
  }

  #pause(partition: AssignedPartition, held: Held): void {
    if (held.paused) return;
    held.paused = true;
    this.#source.pause(partition);
  }
}
