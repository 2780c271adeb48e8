import type { Observable } from 'rxjs';

import { shortestOutsideMs } from '../model/delay-topics.ts';
import { andThen } from '../operators/interop/and-then.ts';
import type { Clock } from '../ports/clock.ts';

import type { ClaimKeeper } from './claim-keeper.ts';
import type { Ended, Job, Scheduled } from './job.ts';
import type { Lines } from './lines.ts';
import type { Turns } from './turns.ts';
import type { WaitReason } from './waits.ts';

/** What a call needs to wait. */
export interface Waiting {
  readonly clock: Clock;
  readonly lines: Lines;
  readonly keeper: ClaimKeeper;
  readonly turns: Turns;
}

/** The call waits outside, or in its lane. */
export type Waits = Ended | Observable<never> | undefined;

/**
 * The call waits until `untilMs`: in a delay topic where that is long, else at the front of its lane. While it waits it
 * holds no slot, no permit, no grant; its key keeps its order and other keys go on.
 */
export function waitUntil(job: Job, turn: Scheduled, untilMs: number, why: WaitReason, context: Waiting): Waits {
  const nowMs = context.clock.now();
  job.waits(why, nowMs);
  if (why === 'retry' || why === 'brake') job.retryAtMs = untilMs;
  if (shouldLeave(job, untilMs - nowMs, context.lines)) {
    return { kind: 'ended', item: job, turn, ending: { kind: 'held', untilMs, why } };
  }
  return backToLane(job, turn, untilMs, context);
}

// A minute's quota comes back within the minute: a call that has not begun is not moved for that.
const longestUnbegunMs = 120_000;

/**
 * Whether a wait is long enough to leave for, and the call can go on in another process: not while an attempt of it may
 * have acted, for then its claim has to go on saying so to everybody else with its id.
 */
export function shouldLeave(job: Job, waitMs: number, lines: Lines): boolean {
  const begun = job.attemptsMade > 0 || job.longWait !== undefined || job.waitingFor === 'order';
  const isLong = waitMs >= (begun ? shortestOutsideMs : longestUnbegunMs);
  return isLong && job.fitsOutside && job.ambiguousSinceMs === undefined && lines.mayLeave(job);
}

/**
 * It keeps its claim, but for a call that must not be repeated: its claim says that it may have been sent, so a crash
 * during the wait would end it as `outcome_unknown` although nothing was. Such a claim is given back first, and asked for
 * anew.
 */
function backToLane(
  job: Job,
  turn: Scheduled,
  untilMs: number,
  { keeper, turns }: Waiting,
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
