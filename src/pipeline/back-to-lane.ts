import type { Observable } from 'rxjs';

import { andThen } from '../operators/interop/and-then.ts';

import type { ClaimKeeper } from './claim-keeper.ts';
import type { Job, Scheduled } from './job.ts';
import type { Turns } from './turns.ts';

/** What a call needs to go back to its lane. */
export interface BackToLane {
  readonly keeper: ClaimKeeper;
  readonly turns: Turns;
}

/**
 * The call returns to the front of its lane and is looked at again at `untilMs`. It keeps its claim, but for a call that
 * must not be repeated: its claim says that it may have been sent, so a crash during the wait would end it as
 * `outcome_unknown` although nothing was. Such a claim is given back first, and asked for anew.
 */
export function backToLane(
  job: Job,
  turn: Scheduled,
  untilMs: number,
  { keeper, turns }: BackToLane,
): Observable<never> | undefined {
  const { claim } = job;
  if (job.plan.repeat.kind !== 'never' || claim === undefined || claim.lost || job.ambiguousSinceMs !== undefined) {
    turns.back(job, turn, untilMs);
    return undefined;
  }
  // While the store is away this takes long, and others may use the place.
  turns.leaveDoor(job);
  return andThen(keeper.release(job), (): Observable<never> | undefined => {
    turns.back(job, turn, untilMs);
    return undefined;
  });
}
