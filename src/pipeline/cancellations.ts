import { type Observable, Subject } from 'rxjs';

import type { AssignedPartition } from '../ports/record-source.ts';

import type { Job, Scheduled } from './job.ts';

/**
 * Calls that nobody wants any more, as far as they are in this process. One that waits comes through at once, out of its
 * lane's turn, and ends as `cancelled`; one that is under way ends when it would have to wait again. Of one that is read
 * later the claims' store tells. What may have taken effect already is not cancelled: it ends as it would have.
 */
export class Cancellations {
  /** Turns of cancelled calls; what becomes of them changes nothing in their lanes. */
  readonly turn$: Observable<Scheduled>;
  readonly #turn$ = new Subject<Scheduled>();
  /** Mostly one each. */
  readonly #waiting = new Map<string, Job[]>();

  constructor() {
    this.turn$ = this.#turn$.asObservable();
  }

  /** A call was read. */
  begun(job: Job): void {
    const same = this.#waiting.get(job.id);
    if (same === undefined) this.#waiting.set(job.id, [job]);
    else same.push(job);
  }

  /** A call ended, or is no longer ours. */
  over(job: Job): void {
    const same = this.#waiting.get(job.id);
    const at = same?.indexOf(job) ?? -1;
    if (same === undefined || at < 0) return;
    if (same.length === 1) this.#waiting.delete(job.id);
    else same.splice(at, 1);
  }

  /** Calls of a partition that was lost are for its next owner. */
  lost(partition: AssignedPartition): void {
    for (const jobs of this.#waiting.values()) {
      for (const job of [...jobs]) if (job.received.partition === partition) this.over(job);
    }
  }

  /** Nobody wants the call any more. */
  cancel(id: string): void {
    for (const job of [...(this.#waiting.get(id) ?? [])]) {
      job.cancelled = true;
      this.returned(job);
    }
  }

  /** A call is back in its lane. */
  returned(job: Job): void {
    if (!job.cancelled || job.underWay || job.pulled !== 'never' || job.ambiguousSinceMs !== undefined) return;
    job.pulled = 'now';
    const back = (): void => {
      // Somebody else is at it, or nobody can say: it waits for its turn like any other.
      job.pulled = 'before';
    };
    this.#turn$.next({ item: job, again: back, join: back, done: () => undefined });
  }
}
