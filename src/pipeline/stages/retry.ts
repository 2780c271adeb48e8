import { isObservable, map, type Observable, type OperatorFunction } from 'rxjs';

import { andThen } from '../../operators/interop/and-then.ts';
import { eachOf } from '../../operators/lanes/each-of.ts';
import type { Random } from '../../ports/random.ts';
import { brakeWaitMs } from '../dead-letter-brake.ts';
import { cancelledEnding, isCancelled, mayRepeat, tooLate, unknownOutcome } from '../endings.ts';
import { hasFallback } from '../has-fallback.ts';
import type { Ended, Ending, Job, Judged } from '../job.ts';
import { liveResult } from '../live-result.ts';
import { waitUntil, type Waiting } from '../waiting.ts';
import type { WaitReason } from '../waits.ts';

/** What retry needs. */
export interface RetryContext extends Waiting {
  readonly random: Random;
}

// A lock or an unfinished earlier request: soon, but not at once, and not all together.
const conflictWaitMs = (random: Random): number => 200 + random.next() * 800;

/** What follows a judged attempt: an ending, or a wait. */
type Next =
  | { readonly kind: 'end'; readonly ending: Ending }
  | { readonly kind: 'wait'; readonly why: WaitReason; readonly untilMs: number };

/**
 * Ends a call or makes it wait: for long in a delay topic, else at the front of its lane, where it holds its lane and its
 * claim.
 */
export function retry(context: RetryContext): OperatorFunction<Judged | Ended, Ended> {
  return eachOf((work: Judged | Ended): Observable<Ended> | Ended | undefined => {
    if (work.kind === 'ended') return work;
    const next$ = decide(work, context);
    return isObservable(next$)
      ? andThen(next$, (next) => carryOut(work, next, context))
      : carryOut(work, next$, context);
  });
}

function carryOut({ job, turn }: Judged, next: Next, context: RetryContext): Observable<never> | Ended | undefined {
  if (next.kind === 'end') return { kind: 'ended', item: job, turn, ending: next.ending };
  // Outside nobody would hear of it before its wait is over.
  if (isCancelled(job)) return { kind: 'ended', item: job, turn, ending: cancelledEnding(job, context.clock.now()) };
  return waitUntil(job, turn, next.untilMs, next.why, context);
}

/** One table from class to what happens. Refusals and a first stale token are not the call's fault and cost nothing. */
function decide(work: Judged, context: RetryContext): Next | Observable<Next> {
  const { job, verdict, tokenVersion } = work;
  const nowMs = context.clock.now();
  switch (verdict.class) {
    case 'success':
    case 'duplicate':
      return { kind: 'end', ending: { kind: 'result', result: liveResult(work, nowMs) } };
    case 'rate-limited':
    case 'quota':
      return { kind: 'wait', why: 'rate-limit', untilMs: nowMs };
    case 'auth': {
      const { token } = job.plan;
      if (verdict.kind !== 'token' || token === undefined || tokenVersion === undefined || job.tokenRetried) {
        return failed(job, 'auth_failed', work, nowMs);
      }
      job.tokenRetried = true;
      job.destination.tokens?.reject(token, tokenVersion);
      return { kind: 'wait', why: 'token', untilMs: nowMs };
    }
    case 'permanent':
      return failed(job, verdict.errorType === 'response_too_large' ? 'response_too_large' : 'permanent', work, nowMs);
    case 'ambiguous':
    case 'retryable':
      // The token was taken: if it grows old until the next attempt, that one may fetch another.
      job.tokenRetried = false;
      // After a clean refusal this always holds; after an unknown outcome only while the platform knows the key.
      return mayRepeat(job, nowMs) ? again(work, nowMs, context) : { kind: 'end', ending: unknownOutcome(job) };
  }
}

/** The ladder of a failed attempt: too late, exhausted, held, or a short wait here. */
function again(work: Judged, nowMs: number, context: RetryContext): Next | Observable<Next> {
  const { job, verdict, charged } = work;
  const { destination, plan } = job;
  if (charged) job.charged++;
  job.inARow++;
  if (job.inARow === 1) job.visitStartedMs = nowMs;
  const exhausted: Next = {
    kind: 'end',
    ending:
      job.ambiguousSinceMs === undefined
        ? {
            kind: 'dead-letter',
            reason: 'attempts_exhausted',
            class: verdict.class,
            message: `${plan.api} at ${destination.name} failed ${job.attemptsMade} times, last: ${verdict.message}`,
          }
        : unknownOutcome(job, verdict),
  };
  if (destination.retry === undefined || job.call.retry === false) return exhausted;
  const { afterAttempts } = destination.fallback;
  const has$ = job.ambiguousSinceMs === undefined && job.attemptsMade > afterAttempts && hasFallback(job);
  if (has$ === true) return exhausted;
  if (has$ === false) return tryOn(work, nowMs, context, exhausted);
  return has$.pipe(map((found) => (found ? exhausted : tryOn(work, context.clock.now(), context, exhausted))));
}

/** Another attempt, if the ladder has one. */
function tryOn({ job, verdict, batch }: Judged, nowMs: number, { random }: RetryContext, exhausted: Next): Next {
  const { destination, plan } = job;
  if (destination.retry === undefined) return exhausted;
  const budget = destination.budget(plan.breakerKey);
  const serialised = verdict.kind === 'conflict' || verdict.kind === 'wait';
  const step = destination.retry.after(
    {
      attempt: job.inARow,
      charged: job.charged,
      holds: job.holds,
      leftMs: job.deadlineMs - nowMs,
      askedMs: Math.max(verdict.askedMs, serialised ? conflictWaitMs(random) : 0),
      elapsedMs: nowMs - job.visitStartedMs,
    },
    batch?.budget(budget) ?? budget,
  );
  switch (step.do) {
    case 'wait':
      return { kind: 'wait', why: 'retry', untilMs: nowMs + step.ms };
    case 'hold':
      job.holds++;
      job.inARow = 0;
      return { kind: 'wait', why: 'retry', untilMs: nowMs + step.ms };
    case 'exhausted':
      return exhausted;
    case 'too-late':
      return { kind: 'end', ending: tooLate(job) };
  }
}

/** A dead letter, if the brake lets it go; else the record waits: perhaps the upstream refuses everything just now. */
function failed(
  job: Job,
  reason: 'permanent' | 'auth_failed' | 'response_too_large',
  { verdict }: Judged,
  nowMs: number,
): Next {
  // What may have taken effect must not go round again: an answer that was too large to take in came from a call that did.
  const repeatable = reason !== 'response_too_large' && mayRepeat(job, nowMs);
  if (!job.destination.brake.tryRelease(nowMs) && repeatable)
    return { kind: 'wait', why: 'brake', untilMs: nowMs + brakeWaitMs };
  // A refusal says nothing about an earlier attempt; the answer that was too large does: the call was made.
  if (job.ambiguousSinceMs !== undefined && reason !== 'response_too_large')
    return { kind: 'end', ending: unknownOutcome(job, verdict) };
  const message = `${job.plan.api} at ${job.destination.name}: ${verdict.message}`;
  return { kind: 'end', ending: { kind: 'dead-letter', reason, class: verdict.class, message } };
}
