import { EMPTY, finalize, map, type Observable, of, type OperatorFunction } from 'rxjs';

import { requestContext } from '../../model/headers.ts';
import { eachOf } from '../../operators/lanes/each-of.ts';
import { attemptTimeoutMs } from '../../operators/timeout/deadline.ts';
import type { ClaimStore } from '../../ports/claim-store.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Token, TokenReply } from '../../ports/token-source.ts';
import type { ClaimKeeper } from '../claim-keeper.ts';
import { brakeWaitMs } from '../dead-letter-brake.ts';
import { tooLate } from '../endings.ts';
import { hasFallback } from '../has-fallback.ts';
import type { Attempted, Claimed, Ended, Ending, Job, Scheduled, WaitReason } from '../job.ts';
import type { Turns } from '../turns.ts';

/** What attempt needs. */
export interface AttemptContext {
  readonly clock: Clock;
  readonly claims: ClaimStore;
  readonly keeper: ClaimKeeper;
  readonly turns: Turns;
  /** An attempt with less than this before the deadline is not made. */
  readonly minWorkMs: number;
}

// How soon a call whose lease is too short for an attempt is looked at again: a renewal is under way.
const leaseLookMs = 500;

/**
 * One attempt: token, slot, quota, breaker permit, then the call, each wait before what it would hold. What cannot start
 * now returns to its lane and says what it waits for. Once the permit is taken nothing is awaited but the call itself.
 * Unsubscribing aborts the calls in flight.
 */
export function attempt(context: AttemptContext): OperatorFunction<Claimed | Ended, Attempted | Ended> {
  return eachOf((work: Claimed | Ended): Observable<Attempted | Ended> => {
    if (work.kind === 'ended') return of(work);
    const { job, turn } = work;
    return tokenFor(job).pipe(
      eachOf((reply): Observable<Attempted | Ended> => {
        switch (reply.kind) {
          case 'unavailable':
            return waits(work, 'token', context.clock.now() + reply.waitMs, context);
          case 'refused':
            return of(
              ended(work, { kind: 'dead-letter', reason: 'auth_failed', class: 'auth', message: reply.message }),
            );
          case 'token':
            return marked(job, context.claims).pipe(
              eachOf((ours) => {
                if (ours)
                  return job.destination.slots
                    .acquire()
                    .pipe(eachOf((free) => start(work, reply.token, free, context)));
                if (job.claim !== undefined) job.claim.lost = true;
                context.keeper.forget(job);
                context.turns.back(job, turn, context.clock.now());
                return EMPTY;
              }),
            );
        }
      }),
    );
  });
}

/** What a call goes on with: a token, or none where none is needed. */
type Credential = TokenReply | { readonly kind: 'token'; readonly token: undefined };

const noToken$ = of<Credential>({ kind: 'token', token: undefined });

function tokenFor({ plan, destination }: Job): Observable<Credential> {
  return plan.token === undefined || destination.tokens === undefined ? noToken$ : destination.tokens.get(plan.token);
}

const yes$ = of(true);

/** A call that must not be repeated tells the store before its bytes leave. */
function marked(job: Job, claims: ClaimStore): Observable<boolean> {
  if (job.plan.repeat.kind !== 'never' || job.sentMarked || job.claim === undefined) return yes$;
  return claims.sent({ id: job.id, fence: job.claim.fence }).pipe(
    map((ours) => {
      job.sentMarked = ours;
      return ours;
    }),
  );
}

/** With a slot in hand: the last checks, all in one synchronous step, then the call. `free` gives the slot back. */
function start(
  work: Claimed,
  token: Token | undefined,
  free: () => void,
  context: AttemptContext,
): Observable<Attempted | Ended> {
  const { job, turn } = work;
  const { destination, plan } = job;
  const { clock, keeper, minWorkMs } = context;
  const nowMs = clock.now();
  const leftMs = job.deadlineMs - nowMs;
  const without = <T>(outcome: T): T => {
    free();
    return outcome;
  };

  if (leftMs < minWorkMs) return without(of(ended(work, tooLate(job))));
  const timeoutMs = attemptTimeoutMs(destination.attemptMs, leftMs);
  if (!keeper.covers(job, timeoutMs)) {
    return without(waits(work, 'claim', job.claim?.lost === true ? nowMs : nowMs + leaseLookMs, context));
  }
  const breaker = destination.breakers?.get(plan.breakerKey);
  const openUntilMs = breaker?.peek(nowMs);
  if (openUntilMs !== undefined) return without(refusedByBreaker(work, openUntilMs, context));
  const limitedMs = destination.limiter.tryTake(plan.limits, nowMs);
  if (limitedMs > 0) return without(waits(work, 'rate-limit', nowMs + limitedMs, context));
  const permit = breaker?.acquire(nowMs, destination.slots.inUse);
  if (permit?.kind === 'refused') return without(refusedByBreaker(work, permit.untilMs, context, nowMs));

  const started = { atMs: nowMs, wallMs: clock.wall(), waited: job.starts(nowMs) };
  const headers = {
    ...plan.request.headers,
    ...requestContext(job.received.record.headers, job.id, job.attemptsMade),
    ...(token === undefined ? {} : { authorization: `Bearer ${token.value}` }),
  };
  return destination.upstream.send({ ...plan.request, headers }, timeoutMs).pipe(
    map((exchange): Attempted => ({
      kind: 'attempted',
      job,
      turn,
      exchange,
      started,
      permit,
      tokenVersion: token?.version,
    })),
    finalize(() => {
      free();
      // Recorded by classify before this runs; what was aborted in between counts neither way.
      if (permit !== undefined) breaker?.release(permit);
    }),
  );
}

function refusedByBreaker(
  work: Claimed,
  untilMs: number,
  context: AttemptContext,
  takenAtMs?: number,
): Observable<Attempted | Ended> {
  const { destination, plan } = work.job;
  // The grant was never used: it goes to somebody else.
  if (takenAtMs !== undefined) destination.limiter.giveBack(plan.limits, takenAtMs);
  if (!hasFallback(work.job)) return waits(work, 'breaker', untilMs, context);
  const message = `${destination.name} is not called at present: its breaker for ${plan.breakerKey} is open`;
  return of(ended(work, { kind: 'dead-letter', reason: 'attempts_exhausted', class: 'retryable', message }));
}

function waits(
  { job, turn }: Claimed,
  what: WaitReason,
  untilMs: number,
  { turns, clock }: AttemptContext,
): Observable<never> {
  job.waits(what, clock.now());
  turns.back(job, turn, untilMs);
  return EMPTY;
}

function ended({ job, turn }: { readonly job: Job; readonly turn: Scheduled }, ending: Ending): Ended {
  return { kind: 'ended', item: job, turn, ending };
}
