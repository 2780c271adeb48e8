import { EMPTY, type Observable, of, type OperatorFunction } from 'rxjs';

import type { Result } from '../../model/result.ts';
import { eachOf } from '../../operators/lanes/each-of.ts';
import type { ClaimReply, ClaimStore } from '../../ports/claim-store.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ClaimKeeper } from '../claim-keeper.ts';
import { mayRepeat, unknownOutcome } from '../endings.ts';
import type { Claimed, Ended, Ending, Job, Scheduled } from '../job.ts';
import type { Turns } from '../turns.ts';

/** What claim needs. */
export interface ClaimContext {
  readonly claims: ClaimStore;
  readonly keeper: ClaimKeeper;
  readonly clock: Clock;
  readonly turns: Turns;
  /** Claims live this long after their end: calls that carry a platform key, and calls that do not. */
  readonly ttlMs: { readonly keyed: number; readonly unkeyed: number };
}

// A running call of somebody else usually ends long before its lease does.
const longestLookMs = 1_000;

/**
 * Nothing twice: asks for the right to act on the call. A call that was done before ends with the first result; one that
 * somebody else is at returns to its lane and is asked for again.
 */
export function claim(context: ClaimContext): OperatorFunction<Scheduled, Claimed | Ended> {
  return eachOf((turn: Scheduled): Observable<Claimed | Ended> => {
    const { item } = turn;
    if (item.kind === 'unworkable') return of({ kind: 'ended', item, turn, ending: item.ending });
    if (item.claim !== undefined && !item.claim.lost) return of({ kind: 'claimed', job: item, turn });
    return askFor(item, turn, context);
  });
}

function askFor(job: Job, turn: Scheduled, context: ClaimContext): Observable<Claimed | Ended> {
  const { claims, keeper, clock, turns, ttlMs } = context;
  const askedMs = clock.now();
  const leaseMs = keeper.leaseMsFor(job);
  const repeatable = job.plan.repeat.kind !== 'never';
  return claims
    .claim({
      id: job.id,
      origin: job.received.origin,
      leaseMs,
      ttlMs: repeatable ? ttlMs.keyed : ttlMs.unkeyed,
      // A call that may be repeated is marked in the same step: the mark only starts its key's window a little early.
      sent: repeatable,
    })
    .pipe(
      eachOf((reply): Observable<Claimed | Ended> => {
        const nowMs = clock.now();
        switch (reply.kind) {
          case 'granted':
            keeper.keep(job, { fence: reply.fence, leaseUntilMs: askedMs + leaseMs, lost: false });
            return afterTakeover(job, reply, nowMs)
              ? of({ kind: 'claimed', job, turn })
              : of(ended(job, turn, unknownOutcome(job)));
          case 'processed':
            return of(
              ended(
                job,
                turn,
                reply.origin === job.received.origin
                  ? { kind: 'stored-result', json: reply.result }
                  : { kind: 'result', result: duplicateOf(reply.result, job) },
              ),
            );
          case 'dead':
            return of(ended(job, turn, { kind: 'stored-dead-letter', json: reply.result }));
          case 'pending':
          case 'not-due':
            job.waits('claim', nowMs);
            turns.back(job, turn, nowMs + Math.min(reply.waitMs, longestLookMs));
            return EMPTY;
        }
      }),
    );
}

function ended(item: Job, turn: Scheduled, ending: Ending): Ended {
  return { kind: 'ended', item, turn, ending };
}

/** Whether the call may go out although an earlier owner may have sent it before it vanished. */
function afterTakeover(job: Job, reply: Extract<ClaimReply, { kind: 'granted' }>, nowMs: number): boolean {
  if (reply.takeovers === 0 || reply.firstSentAgoMs === undefined) return true;
  job.ambiguousSinceMs ??= nowMs - reply.firstSentAgoMs;
  return mayRepeat(job, nowMs);
}

function duplicateOf(json: string, job: Job): Result {
  const { context: _theirs, ...first } = JSON.parse(json) as Result;
  return {
    ...first,
    id: job.id,
    origin: job.received.origin,
    status: 'duplicate',
    ...(job.call.context === undefined ? {} : { context: job.call.context }),
  };
}
