import { Observable, type OperatorFunction, Subscription } from 'rxjs';

import type { Timers } from '../../ports/clock.ts';
import type { RecordSource } from '../../ports/record-source.ts';
import type { Partitions } from '../partitions.ts';
import type { Received } from '../received.ts';

/** What commit needs. */
export interface CommitContext {
  readonly partitions: Partitions;
  readonly source: RecordSource;
  readonly timers: Timers;
  readonly commitEveryMs: number;
  /** So many ended records bring the next commit forward. */
  readonly commitEveryRecords: number;
}

/** A record whose end is durable. */
interface Done {
  readonly received: Pick<Received, 'partition' | 'record'>;
}

/**
 * Counts settled records as done and commits each partition up to its first unfinished record: on a timer, after many
 * completions, when partitions are about to move, and when the stream ends. One commit is out at a time; one that was not stored goes again with the next, also
 * when no further record ends. Unsubscribing stops the timer; what was not
 * committed by then is delivered again.
 */
export function commit<T extends Done>(context: CommitContext): OperatorFunction<T, T> {
  const { partitions, source, timers, commitEveryMs, commitEveryRecords } = context;
  return (settled$) =>
    new Observable((subscriber) => {
      let committing = false;
      let completed = false;
      let again = false;
      const out = new Subscription();
      let cancelTimer = (): void => undefined;

      const commitNow = (): void => {
        if (committing) return;
        const commits = partitions.commits();
        if (commits.length === 0) {
          if (completed) subscriber.complete();
          return;
        }
        committing = true;
        again = false;
        let stored = false;
        out.add(
          source.commit(commits).subscribe({
            next: () => {
              stored = true;
              partitions.committed(commits);
            },
            error: (error: unknown) => subscriber.error(error),
            complete: () => {
              committing = false;
              if (!completed) {
                if (again) commitNow();
                return;
              }
              // What was settled meanwhile goes now, when nobody will come after it.
              if (stored) commitNow();
              else subscriber.complete();
            },
          }),
        );
      };
      const arm = (): void => {
        cancelTimer = timers.after(commitEveryMs, () => {
          commitNow();
          arm();
        });
      };
      arm();
      out.add(
        source.rebalancing$?.subscribe({
          next: () => {
            // Behind a commit on its way goes one more: the next owner need not repeat what ended meanwhile.
            again = committing;
            commitNow();
          },
          error: (error: unknown) => subscriber.error(error),
        }),
      );
      out.add(
        settled$.subscribe({
          next: (settled) => {
            partitions.done(settled.received);
            subscriber.next(settled);
            if (partitions.doneSinceCommit >= commitEveryRecords) commitNow();
          },
          error: (error: unknown) => subscriber.error(error),
          complete: () => {
            completed = true;
            cancelTimer();
            commitNow();
          },
        }),
      );
      return () => {
        cancelTimer();
        out.unsubscribe();
      };
    });
}
