import { Observable } from 'rxjs';

import type { Exchange, Verdict } from '../model/outcome.ts';
import type { Clock } from '../ports/clock.ts';
import type { BatchForm } from '../ports/profile.ts';
import type { UpstreamRequest } from '../ports/upstream.ts';

import type { Batches } from './batches.ts';
import type { ClaimKeeper } from './claim-keeper.ts';
import { isCancelled } from './endings.ts';
import type { Instruments } from './instruments.ts';
import type { Attempted, Job, Started } from './job.ts';
import { SharedAttempt } from './shared-attempt.ts';
import type { Turns } from './turns.ts';

/** What calls need that go together. */
export interface CrewContext {
  readonly clock: Clock;
  readonly keeper: ClaimKeeper;
  readonly batches: Batches;
  readonly turns: Turns;
  readonly instruments: Instruments;
  readonly minWorkMs: number;
}

/** A call that leads, and those that are sent with it. */
export interface Crew {
  readonly request: UpstreamRequest;
  /** No longer than the shortest rest of their deadlines. */
  readonly timeoutMs: number;
  /** What becomes of the leader; the riders come home while this is subscribed to. */
  arrive(own: Attempted): Observable<Attempted>;
}

/**
 * Who is sent with a call that starts now; `undefined`: nobody. A rider that was cancelled, has no time left, or whose lease
 * would not outlast the attempt waits for its turn again, where that is seen to.
 */
export function crewOf(leader: Job, timeoutMs: number, context: CrewContext): Crew | undefined {
  const form = leader.plan.batch;
  if (leader.seat !== 'lead' || form === undefined) return undefined;
  const { batches, clock, keeper, minWorkMs } = context;
  const nowMs = clock.now();
  const riders = new Map<Job, Started>();
  for (const rider of batches.depart(leader)) {
    const fits = !isCancelled(rider) && rider.deadlineMs - nowMs >= minWorkMs && keeper.covers(rider, timeoutMs);
    if (!fits) batches.home(rider, undefined);
    else riders.set(rider, startOf(rider, clock));
  }
  if (riders.size === 0) return undefined;
  const items = [leader, ...riders.keys()].map(({ plan }) => plan.batch?.item ?? '');
  const crew: Crew = {
    request: form.compose(items),
    timeoutMs: Math.min(timeoutMs, ...[...riders.keys()].map(({ deadlineMs }) => deadlineMs - nowMs)),
    arrive: (own) => arrive(own, riders, partsOf(own, form, items, context), context),
  };
  return crew;
}

/** An attempt of a call begins. */
export function startOf(job: Job, clock: Clock): Started {
  const atMs = clock.now();
  return { atMs, wallMs: clock.wall(), waited: job.starts(atMs), span: job.received.trace?.attempt() };
}

function partsOf(own: Attempted, form: BatchForm, items: readonly string[], { clock }: CrewContext) {
  const { job, exchange } = own;
  return answersOf(exchange, job.destination.profile.classify(exchange, job.plan, clock.wall()), form, items);
}

/**
 * What each call was answered. A good answer is split; a failure of the whole request is that of each. What refuses the request
 * itself may mean just one of them, nobody knows which: then each is to ask by itself, and gets the answer that it deserves.
 */
export function answersOf(
  exchange: Exchange,
  verdict: Pick<Verdict, 'class' | 'kind'>,
  form: Pick<BatchForm, 'split'>,
  items: readonly string[],
): readonly (Exchange | undefined)[] {
  if (verdict.class === 'success') return form.split(exchange, items);
  const meansOne = verdict.class === 'permanent' || (verdict.class === 'auth' && verdict.kind !== 'token');
  return items.map(() => (meansOne ? undefined : exchange));
}

/** First who was answered, so that breaker and limiter know before anybody starts anew; then who has to ask by itself. */
function arrive(
  own: Attempted,
  riders: ReadonlyMap<Job, Started>,
  [leading, ...others]: readonly (Exchange | undefined)[],
  { batches, turns, clock, instruments }: CrewContext,
): Observable<Attempted> {
  return new Observable((subscriber) => {
    const { job, turn, permit, tokenVersion, started } = own;
    const batch = new SharedAttempt(riders.size + 1);
    instruments.drewQuota(job, started.waited?.what === 'rate-limit' ? started.waited.ms : 0);
    instruments.wentTogether(job, batch.calls);
    // Whoever is judged first tells the breaker, which may have been replaced since a rider's turn.
    let untold = leading === undefined ? permit : undefined;
    if (leading !== undefined) subscriber.next({ ...own, exchange: leading, batch });
    const alone: Job[] = [];
    for (const [index, [rider, start]] of [...riders].entries()) {
      const exchange = others[index];
      if (exchange === undefined) {
        alone.push(rider);
        continue;
      }
      const tells = rider.breaker === job.breaker ? untold : undefined;
      if (tells !== undefined) untold = undefined;
      batches.home(rider, { exchange, started: start, permit: tells, tokenVersion, batch });
    }
    for (const rider of alone) {
      rider.alone = true;
      batches.home(rider, undefined);
    }
    if (leading === undefined) {
      job.alone = true;
      turns.back(job, turn, clock.now());
    }
    subscriber.complete();
  });
}
