import type { Observable } from 'rxjs';

import type { Cause } from '../model/dead-letters/cause.ts';
import type { DeadLetterFilter } from '../model/dead-letters/filter.ts';
import type { DeadLetterGroup, GroupField } from '../model/dead-letters/groups.ts';
import type { recordView } from '../model/record-view.ts';

import type { ClaimView } from './claim-store.ts';

/** Which dead letters are to be listed, and how. */
export interface ListQuestion {
  readonly filter: DeadLetterFilter;
  readonly by: readonly GroupField[];
  /** So many of the newest that match are named one by one, 0 to 1,000. */
  readonly records: number;
}

/** One dead letter in a list. */
export interface DeadLetterLine {
  readonly at: string;
  readonly endedAt: string;
  readonly reason: string;
  readonly upstream: string;
  readonly key: string;
  readonly code: string;
  readonly id: string | undefined;
  readonly message: string | undefined;
}

/** Dead letters by what they have in common. */
export interface DeadLetterList {
  readonly by: readonly GroupField[];
  readonly looked: number;
  readonly matched: number;
  readonly groups: readonly DeadLetterGroup[];
  /** The newest, oldest of them first. */
  readonly records: readonly DeadLetterLine[];
}

/** Everything about one dead letter. */
export interface DeadLetterDetail extends Cause {
  readonly at: string;
  readonly endedAt: string;
  readonly reason: string;
  readonly class: string;
  readonly id: string | undefined;
  readonly upstream: string;
  /** How often it was sent again before it ended here. */
  readonly round: number;
  /** What has become of the call since: its claim. */
  readonly call: ClaimView['kind'];
  readonly history: unknown;
  readonly record: ReturnType<typeof recordView>;
}

/** What a redrive would do. */
export interface RedrivePreview {
  readonly looked: number;
  readonly wouldSend: number;
  /** Those that match and are passed over, by why: `outcomeUnknown`, `tooLate`. */
  readonly passedOver: Readonly<Record<string, number>>;
  /** At least, by the rate. */
  readonly seconds: number;
  readonly groups: readonly DeadLetterGroup[];
  readonly sample: readonly DeadLetterLine[];
}

/** A redrive to be done. */
export interface RedriveOrder {
  /** Names the run: a run that is ordered again under its name goes on where it was. */
  readonly run: string;
  readonly filter: DeadLetterFilter;
  readonly perSecond: number;
  readonly who: string;
}

/** A run: a redrive, or the undoing of one. */
export interface RunView {
  readonly run: string;
  readonly kind: 'redrive' | 'undo';
  readonly state: 'running' | 'stopped' | 'finished' | 'failed';
  readonly counts: Readonly<Record<string, number>>;
  /** Dead letters still to be looked at. */
  readonly left: number;
  readonly error?: string;
}

/**
 * Dead letters: what there is, why, and sending them again.
 *
 * All streams are cold and error with a `LarkspurError`. A run that was started goes on when its stream is unsubscribed;
 * it survives a crash in that ordering it again goes on where it was.
 */
export interface DeadLetterDesk {
  list(question: ListQuestion): Observable<DeadLetterList>;
  /** @param ref `[dead-letters/]PARTITION/OFFSET` or the id of a call, whose newest one is meant; errors with `not_found` */
  show(ref: string): Observable<DeadLetterDetail>;
  preview(filter: DeadLetterFilter, perSecond: number): Observable<RedrivePreview>;
  /** Starts or resumes; emits the run at once, then as it goes, and completes with it. Errors: `bad_request` when it runs already. */
  redrive(order: RedriveOrder): Observable<RunView>;
  /** Takes back what a run has sent and no worker has begun. Errors: `not_found` for a name that was never ordered. */
  undo(run: string, who: string): Observable<RunView>;
  /** The filter and rate of a run that was ordered before; errors with `not_found`. */
  ordered(run: string): Observable<Omit<RedriveOrder, 'who'>>;
  /** Lets a run end after what is under way; `false` when none of that name runs here. */
  stop(run: string): boolean;
  /** The runs of this process. */
  runs(): readonly RunView[];
}
