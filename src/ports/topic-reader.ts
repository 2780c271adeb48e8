import type { Observable } from 'rxjs';

import type { InRecord } from '../model/record.ts';

/** A stretch of one partition: offsets from `from` up to and without `to`. */
export interface Stretch {
  readonly partition: number;
  readonly from: number;
  /** Default: what is there when the reading starts. */
  readonly to?: number;
}

/** Where a partition begins and ends at present: `end` is the offset of the next record. */
export interface Bounds {
  readonly partition: number;
  readonly begin: number;
  readonly end: number;
}

/**
 * Reads topics beside all groups, however long they are.
 *
 * `scan` is cold: it emits what is there, in offset order within a partition, and completes; each record is handed over
 * before the next is read, so memory stays flat. All error with `topic_missing`, or with what the store says.
 */
export interface TopicReader {
  /** @param stretches only these; default: everything */
  scan(topic: string, stretches?: readonly Stretch[]): Observable<InRecord>;
  /** Names the cluster in origins. Emits once. */
  cluster(): Observable<string>;
  /** Emits once. */
  bounds(topic: string): Observable<readonly Bounds[]>;
  /** What a group has committed, by partition; partitions without a commit are left out. Emits once. */
  committed(group: string, topic: string): Observable<ReadonlyMap<number, number>>;
}
