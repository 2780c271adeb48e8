import { EMPTY, type Observable } from 'rxjs';

import { andThen } from '../operators/interop/and-then.ts';
import type { ClaimStore } from '../ports/claim-store.ts';

import type { ClaimKeeper } from './claim-keeper.ts';
import type { Job, Scheduled } from './job.ts';
import type { Turns } from './turns.ts';

/** What a call needs to go back to its lane. */
export interface BackToLane {
  readonly claims: ClaimStore;
  readonly keeper: ClaimKeeper;
  readonly turns: Turns;
  /** Claims live this long after their end: calls that carry a platform key, and calls that do not. */
  readonly ttlMs: { readonly keyed: number; readonly unkeyed: number };
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
  { claims, keeper, turns, ttlMs }: BackToLane,
): Observable<never> | undefined {
  const { claim } = job;
  if (job.plan.repeat.kind !== 'never' || claim === undefined || claim.lost || job.ambiguousSinceMs !== undefined) {
    turns.back(job, turn, untilMs);
    return undefined;
  }
  keeper.forget(job);
  job.claim = undefined;
  // While the store is away this takes long, and others may use the place.
  turns.leaveDoor(job);
  return andThen(
    claims.finish({
      claim: { id: job.id, fence: claim.fence },
      state: 'FAILED',
      result: '',
      delayMs: 0,
      ttlMs: ttlMs.unkeyed,
    }),
    (): Observable<never> => {
      turns.back(job, turn, untilMs);
      return EMPTY;
    },
  );
}
