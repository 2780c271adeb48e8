import type { Observable } from 'rxjs';

import type { InRecord } from '../model/record.ts';

/** One partition as it was given to this process. A later assignment of the same partition is another object. */
export interface AssignedPartition {
  readonly topic: string;
  readonly partition: number;
  /** Grows with every assignment: completions of an older one count for nothing. */
  readonly epoch: number;
}

/** What a source tells. Events of one partition come in order: assigned, records, lost. */
export type SourceEvent =
  | {
      readonly kind: 'assigned';
      readonly partition: AssignedPartition;
      /** Offset of the first record that will be delivered. */
      readonly fromOffset: number;
      /** Metadata of the last commit, as it was written, or `null`. */
      readonly metadata: string | null;
    }
  | { readonly kind: 'lost'; readonly partition: AssignedPartition }
  | { readonly kind: 'record'; readonly partition: AssignedPartition; readonly record: InRecord };

/** One commit: everything below `offset` is done. */
export interface Commit {
  readonly partition: AssignedPartition;
  readonly offset: number;
  /** At most 4096 UTF-16 units; `''` for none. */
  readonly metadata: string;
}

/**
 * Records of a consumer group's input topics.
 *
 * Promises: `event$` is cold and single use (subscribing joins the group, unsubscribing leaves it after what is pending
 * was handled); records of a partition come in offset order without gaps other than the log's own; `pause` takes effect
 * synchronously: called inside `next`, no further record of that partition follows until `resume`, none is lost.
 * Connection trouble is handled inside, for ever, with jittered back-off. `error` is for what a person must mend.
 * Does not promise that a record is delivered once: after a crash or a rebalance uncommitted ones come again.
 */
export interface RecordSource {
  /** Names the cluster in origins; stable over restarts. Known once the first `assigned` came. */
  clusterId(): string;
  readonly event$: Observable<SourceEvent>;
  /**
   * Emits when partitions are about to be dealt out anew: what is committed inside `next` still counts for those that move.
   * Absent: never. Not every loss is announced.
   */
  readonly rebalancing$?: Observable<void>;
  pause(partition: AssignedPartition): void;
  resume(partition: AssignedPartition): void;
  /**
   * Stores progress. Commits of partitions that are no longer ours are dropped silently. Emits once and completes when
   * stored; completes without a value when it was not (a rebalance, a passing failure, which is logged and counted): then
   * the caller must commit the same or newer offsets again, for nobody else does.
   */
  commit(commits: readonly Commit[]): Observable<void>;
  /** Whether partitions are assigned and data was fetched lately. */
  ready(): boolean;
}
