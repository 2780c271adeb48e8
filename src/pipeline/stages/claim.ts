import type { Observable, OperatorFunction } from 'rxjs';

import type { Result } from '../../model/result.ts';
import { andThen } from '../../operators/interop/and-then.ts';
import { eachOf } from '../../operators/lanes/each-of.ts';
import type { ClaimReply, ClaimStore } from '../../ports/claim-store.ts';
import type { Clock } from '../../ports/clock.ts';
import { mayHaveActed, mayRepeat, unknownOutcome } from '../endings.ts';
import type { Claimed, Ended, Ending, Job, Scheduled } from '../job.ts';
import { waitUntil, type Waiting, type Waits } from '../waiting.ts';

/** What claim needs. */
export interface ClaimContext extends Waiting {
  /** By which the age of a record is reckoned, as far as it is known: by a clock that is behind an old one looks young. */
  readonly brokerClock: Clock;
  readonly claims: ClaimStore;
}

// The store gave the call up: nobody lived long enough to remember an ending.
const workersDied: Ending = {
  kind: 'dead-letter',
  reason: 'outcome_unknown',
  class: 'ambiguous',
  message:
    'too many workers ended while they held this call: it may be what ends them. Look at it before you send it again.',
};

// A running call of somebody else usually ends long before its lease does.
const longestLookMs = 1_000;

/**
 * Nothing twice: asks for the right to act on the call. A call that was done before ends with the first result; one that
 * somebody else is at returns to its lane and is asked for again.
 */
export function claim(context: ClaimContext): OperatorFunction<Scheduled | Ended, Claimed | Ended> {
  return eachOf((turn: Scheduled | Ended) => {
    if ('ending' in turn) return turn;
    const { item } = turn;
    if (item.kind === 'unworkable') return { kind: 'ended', item, turn, ending: item.ending } as const;
    if (item.claim !== undefined && !item.claim.lost) return { kind: 'claimed', job: item, turn } as const;
    return askFor(item, turn, context);
  });
}

function askFor(job: Job, turn: Scheduled, context: ClaimContext): Observable<Claimed | Ended | undefined> {
  const { claims, keeper, clock, brokerClock } = context;
  const askedMs = clock.now();
  const leaseMs = keeper.leaseMsFor(job);
  const reply$ = claims.claim({
    id: job.id,
    origin: job.received.origin,
    leaseMs,
    ttlMs: keeper.lifeMsFor(job),
    // In the same step, so that no call costs a second trip before its bytes leave: a call that must not be repeated
    // gives the claim back when it has to wait after all, and one that may only starts its key's window a little early.
    sent: true,
    withoutStoreMs: withoutStoreMs(job, brokerClock.wall()),
    round: job.round,
  });
  return andThen(reply$, (reply) => {
    if (reply.kind === 'granted') job.received.trace?.granted(job.id, reply.fence, reply.takeovers > 0);
    job.spent.stage('claim', askedMs, clock.now());
    return afterReply(job, turn, reply, askedMs + leaseMs, context);
  });
}

/**
 * For how long a call is safe without a claim: always, if it may be repeated anyway; else while its record is younger than
 * the window of its key, because whoever sent it before did so after that. Of one that was sent again nobody knows when.
 */
function withoutStoreMs({ plan: { repeat }, received: { record, held }, round }: Job, wallMs: number): number {
  if (repeat.kind !== 'keyed') return repeat.kind === 'always' ? Infinity : 0;
  if (repeat.perToken === true || round > 0) return 0;
  return Math.max(0, repeat.windowMs - Math.max(0, wallMs - (held?.first ?? record).timestampMs));
}

/** What a reply means; `undefined` when the call returned to its lane. */
function afterReply(
  job: Job,
  turn: Scheduled,
  reply: ClaimReply,
  leaseUntilMs: number,
  context: ClaimContext,
): Claimed | Waits {
  const { keeper, clock, turns } = context;
  const nowMs = clock.now();
  switch (reply.kind) {
    case 'granted':
      keeper.keep(job, { fence: reply.fence, leaseUntilMs, lost: false });
      if (reply.cancelled === true) job.cancelled = true;
      if (job.endedHere !== undefined) return ended(job, turn, job.endedHere);
      return afterTakeover(job, reply, nowMs) ? { kind: 'claimed', job, turn } : ended(job, turn, unknownOutcome(job));
    case 'processed':
      return ended(job, turn, endingOf(reply, job));
    case 'dead':
      return ended(job, turn, reply.result === '' ? workersDied : { kind: 'stored-dead-letter', json: reply.result });
    case 'not-due':
      // Somebody else holds the same call outside, or did so before it could say so.
      return waitUntil(job, turn, nowMs + reply.waitMs, 'claim', context);
    case 'pending':
      job.waits('claim', nowMs);
      turns.back(job, turn, nowMs + Math.min(reply.waitMs, longestLookMs));
      return undefined;
  }
}

function ended(item: Job, turn: Scheduled, ending: Ending): Ended {
  return { kind: 'ended', item, turn, ending };
}

/** Whether the call may go out although an earlier owner may have sent it before it vanished. */
function afterTakeover(job: Job, reply: Extract<ClaimReply, { kind: 'granted' }>, nowMs: number): boolean {
  // Also where nobody vanished: another record of the call may have been sent, and be held outside with its outcome unknown.
  if (reply.firstSentAgoMs === undefined) return true;
  mayHaveActed(job, nowMs - reply.firstSentAgoMs);
  return mayRepeat(job, nowMs);
}

/**
 * The record that was first gets its own result again, unchanged, any other one a duplicate. The result says whose it is:
 * a store that restarted empty counts fences from the start, and may have taken one owner's result for another's claim.
 */
function endingOf({ origin, result: json }: Extract<ClaimReply, { kind: 'processed' }>, job: Job): Ending {
  const first = JSON.parse(json) as Result;
  const own = job.received.origin;
  return origin === own && first.origin === own
    ? { kind: 'stored-result', json }
    : { kind: 'result', result: duplicateOf(first, job) };
}

function duplicateOf({ context: _theirs, ...first }: Result, job: Job): Result {
  return {
    ...first,
    id: job.id,
    origin: job.received.origin,
    status: 'duplicate',
    ...(job.call.context === undefined ? {} : { context: job.call.context }),
  };
}
