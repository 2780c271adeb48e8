import { isObservable, Observable, type OperatorFunction } from 'rxjs';

import { requestContext } from '../../model/headers.ts';
import { type TraceContext, traceHeaders, traceparentOf } from '../../model/trace-context.ts';
import { andThen } from '../../operators/interop/and-then.ts';
import { eachOf } from '../../operators/lanes/each-of.ts';
import type { Taken } from '../../operators/limit/taken.ts';
import { attemptTimeoutMs } from '../../operators/timeout/deadline.ts';
import type { Traces } from '../../operators/trace/traces.ts';
import type { Token } from '../../ports/token-source.ts';
import { attemptView } from '../attempt-view.ts';
import { type CrewContext, crewOf, startOf } from '../crew.ts';
import { brakeWaitMs } from '../dead-letter-brake.ts';
import { cancelledEnding, isCancelled, keyHolds, mayRepeat, tooLate, unknownOutcome } from '../endings.ts';
import { hasFallback } from '../has-fallback.ts';
import type { Attempted, Claimed, Ended, Ending, Job, Scheduled } from '../job.ts';
import type { Pauses } from '../pauses.ts';
import { waitUntil, type Waiting } from '../waiting.ts';
import type { WaitReason } from '../waits.ts';
import { withoutToken } from '../without-token.ts';

/** What attempt needs. */
export interface AttemptContext extends Waiting, CrewContext {
  /** An attempt with less than this before the deadline is not made. */
  readonly minWorkMs: number;
  readonly pauses: Pick<Pauses, 'has'>;
  readonly traces?: Traces | undefined;
}

// How soon a call whose lease is too short for an attempt is looked at again: a renewal is under way.
const leaseLookMs = 500;

/**
 * One attempt: token, slot, quota, breaker permit, then the call, each wait before what it would hold. What cannot start
 * now returns to its lane and says what it waits for. Once the permit is taken nothing is awaited but the call itself.
 * Unsubscribing aborts the calls in flight and starts none.
 */
export function attempt(context: AttemptContext): OperatorFunction<Claimed | Ended, Attempted | Ended> {
  return (work$) =>
    new Observable((subscriber) => {
      const running: Running = { ...context, stopped: false };
      // First of all: an aborted call frees its slot, and who waits for one must not begin with it.
      subscriber.add(() => {
        running.stopped = true;
      });
      return work$.pipe(eachOf((work) => begin(work, running))).subscribe(subscriber);
    });
}

/** What attempt needs, for as long as one subscription lasts. */
interface Running extends AttemptContext {
  stopped: boolean;
}

function begin(work: Claimed | Ended, context: Running): Step {
  if (work.kind === 'ended') return work;
  const { deadlineMs } = work.job;
  const { clock } = context;
  if (isCancelled(work.job)) return ended(work, cancelledEnding(work.job, clock.now()));
  // Who is too late needs neither token nor slot.
  if (work.job.outOfTime || deadlineMs - clock.now() < context.minWorkMs) return ended(work, tooLate(work.job));
  if (work.job.seat === 'ride') return ride(work, context);
  const boarding$ = work.job.seat === 'lead' ? context.batches.boarding(work.job) : undefined;
  return boarding$ === undefined ? withToken(work, context) : andThen(boarding$, () => withToken(work, context));
}

/** Its start is that of another; where that one leaves without it, it waits for its turn again. */
function ride({ job, turn }: Claimed, { batches, turns, clock }: Running): Step {
  return andThen(batches.ride(job), (ridden): Attempted | undefined => {
    if (ridden !== undefined) return { kind: 'attempted', job, turn, ...ridden };
    turns.back(job, turn, clock.now());
    return undefined;
  });
}

function withToken(work: Claimed, context: Running): Step {
  const { plan, destination } = work.job;
  const { clock } = context;
  if (plan.token === undefined || destination.tokens === undefined) return inSlot(work, undefined, context);
  const askedMs = clock.now();
  return andThen(destination.tokens.get(plan.token), (reply): Step => {
    work.job.spent.stage('token', askedMs, clock.now());
    switch (reply.kind) {
      case 'unavailable':
        return waits(work, 'token', clock.now() + reply.waitMs, context);
      case 'refused':
        return refusedToken(work, destination.cover.text(reply.message), context);
      case 'token':
        return inSlot(work, reply.token, context);
    }
  });
}

/** The attempt under way, an ending, or nothing because the call returned to its lane. */
type Step = Observable<Attempted | Ended> | Attempted | Ended | undefined;

function inSlot(work: Claimed, token: Token | undefined, context: Running): Step {
  const { slots } = work.job.destination;
  const free = slots.tryAcquire();
  if (free !== undefined) return start(work, token, free, context);
  const askedMs = context.clock.now();
  return andThen(slots.acquire(), (release) => {
    work.job.spent.stage('slot', askedMs, context.clock.now());
    return start(work, token, release, context);
  });
}

/**
 * With a slot in hand: the last checks, all in one synchronous step, then the call. `free` gives the slot back. Where the
 * quota must be asked for elsewhere the slot waits for that one answer, and everything is checked once more.
 */
function start(work: Claimed, token: Token | undefined, free: () => void, context: Running, answered?: Taken): Step {
  const { job, turn } = work;
  const { destination, plan } = job;
  const { clock, keeper, minWorkMs } = context;
  const nowMs = clock.now();
  const leftMs = job.deadlineMs - nowMs;
  const without = <T>(outcome: T): T => {
    // The grant was never used: it goes to somebody else.
    if (answered?.kind === 'granted') destination.limiter.giveBack(plan.limits, answered.grant);
    free();
    return outcome;
  };

  if (context.stopped) {
    without(undefined);
    return undefined;
  }
  if (isCancelled(job)) return without(ended(work, cancelledEnding(job, nowMs)));
  // Paused since the lanes let it through: they know where it waits.
  if (context.pauses.has(destination.name)) return without(waits(work, 'paused', nowMs, context));
  if (leftMs < minWorkMs) return without(ended(work, tooLate(job)));
  // Asked again here: since the last attempt failed, a long wait may have gone by.
  if (!mayRepeat(job, nowMs) || !keyHolds(job, token?.version)) return without(ended(work, unknownOutcome(job)));
  const timeoutMs = attemptTimeoutMs(destination.attemptMs, leftMs);
  if (!keeper.covers(job, timeoutMs)) {
    return without(waits(work, 'claim', job.claim?.lost === true ? nowMs : nowMs + leaseLookMs, context));
  }
  const { breaker } = job;
  const openUntilMs = breaker?.peek(nowMs);
  if (openUntilMs !== undefined) return without(refusedByBreaker(work, openUntilMs, context));
  answered ??= destination.limiter.take(plan.limits, nowMs, job.appointed);
  job.appointed = answered.kind === 'wait' && answered.appointed === true;
  if (job.appointed && answered.kind === 'wait') context.batches.appointed(job, answered.untilMs);
  if (answered.kind === 'ask') return askFirst(work, token, free, context);
  if (answered.kind === 'wait') return without(waits(work, 'rate-limit', answered.untilMs, context));
  context.turns.granted(job);
  const permit = breaker?.acquire(nowMs, destination.slots.inUse);
  if (permit?.kind === 'refused') return without(refusedByBreaker(work, permit.untilMs, context));

  const started = startOf(job, clock);
  const crew = crewOf(job, timeoutMs, context);
  const request = crew?.request ?? plan.request();
  const carried = carriedBy(job, started.span, context);
  const headers = Object.assign({}, request.headers, carried, destination.own?.headers(attemptView(job)));
  if (token !== undefined) headers['authorization'] = `Bearer ${token.value}`;
  return andThen(
    destination.upstream.send({ ...request, headers }, crew?.timeoutMs ?? timeoutMs),
    (raw): Attempted | Observable<Attempted> => {
      const exchange = token === undefined ? raw : withoutToken(raw, token.value);
      const own: Attempted = { kind: 'attempted', job, turn, exchange, started, permit, tokenVersion: token?.version };
      return crew === undefined ? own : crew.arrive(own);
    },
    () => {
      free();
      // Recorded by classify before this runs; what was aborted in between counts neither way.
      if (permit !== undefined) breaker?.release(permit);
    },
  );
}

/** What goes out beside the request: its trace goes on with the attempt's own span, unless it ends with us. */
function carriedBy(job: Job, span: TraceContext | undefined, { traces }: AttemptContext): Record<string, string> {
  const { parent, state } = traceHeaders;
  const carried = requestContext(job.received.record.headers, job.id, job.attemptsMade);
  if (traces?.withheldFrom.has(job.destination.name) === true) {
    const { [parent]: _parent, [state]: _state, ...others } = carried;
    return others;
  }
  if (span !== undefined) carried[parent] = traceparentOf(span);
  return carried;
}

/** The answer comes within the time limit of the store, also when it is away; the slot is held for no other wait. */
function askFirst(work: Claimed, token: Token | undefined, free: () => void, context: Running): Step {
  const { job } = work;
  const askedMs = context.clock.now();
  let answered = false;
  return andThen(
    job.destination.limiter.ask(job.plan.limits),
    (taken) => {
      answered = true;
      job.spent.stage('limit', askedMs, context.clock.now());
      return start(work, token, free, context, taken);
    },
    () => {
      if (!answered) free();
    },
  );
}

function refusedByBreaker(work: Claimed, untilMs: number, context: AttemptContext): Step {
  const { destination, plan, ambiguousSinceMs } = work.job;
  // An effect that nobody knows must not be painted over by a declared answer.
  const has$ = ambiguousSinceMs === undefined && hasFallback(work.job);
  const message = `${destination.name} is not called at present: its breaker for ${plan.breakerKey} is open`;
  const open: Ending = {
    kind: 'dead-letter',
    reason: 'attempts_exhausted',
    class: 'retryable',
    message,
    breakerOpen: true,
  };
  const goOn$ = (found: boolean): Step => (found ? ended(work, open) : waits(work, 'breaker', untilMs, context));
  return isObservable(has$) ? andThen(has$, goOn$) : goOn$(has$);
}

/** No token without a person: a dead letter, if the brake lets it go, else the record waits for the person. */
function refusedToken(work: Claimed, message: string, context: AttemptContext): Step {
  const nowMs = context.clock.now();
  if (!work.job.destination.brake.tryRelease(nowMs)) return waits(work, 'brake', nowMs + brakeWaitMs, context);
  return ended(
    work,
    work.job.ambiguousSinceMs === undefined
      ? { kind: 'dead-letter', reason: 'auth_failed', class: 'auth', message }
      : unknownOutcome(work.job, { class: 'auth', message }),
  );
}

/** Back to the lane, or outside; a call whose deadline comes before what it waits for ends now. */
function waits(work: Claimed, what: WaitReason, untilMs: number, context: AttemptContext): Step {
  const { job, turn } = work;
  const nowMs = context.clock.now();
  if (isCancelled(job)) return ended(work, cancelledEnding(job, nowMs));
  job.waits(what, nowMs);
  if (untilMs + context.minWorkMs > job.deadlineMs) return ended(work, tooLate(job));
  return waitUntil(job, turn, untilMs, what, context);
}

function ended({ job, turn }: { readonly job: Job; readonly turn: Scheduled }, ending: Ending): Ended {
  return { kind: 'ended', item: job, turn, ending };
}
