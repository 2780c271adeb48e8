import { map, type OperatorFunction } from 'rxjs';

import { jsonOrText } from '../../model/json-levels.ts';
import type { Answer, Verdict } from '../../model/outcome.ts';
import { isoTime } from '../../model/time.ts';
import type { FairLanes } from '../../operators/lanes/fair-lanes.ts';
import { spreadWaitMs, unnamedWaitMs } from '../../operators/retry/retry-after.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';
import type { Random } from '../../ports/random.ts';
import { attemptView } from '../attempt-view.ts';
import { mayHaveActed } from '../endings.ts';
import type { Instruments } from '../instruments.ts';
import type { Attempted, Decoded, Ended, Judged } from '../job.ts';
import { attemptFacts } from '../trace/facts.ts';

/** What classify needs. */
export interface ClassifyContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly lanes: FairLanes<Decoded>;
  readonly instruments: Instruments;
}

// A refusal that names no time: long enough to be felt, short enough to cost little quota.
const unnamedCoolDownMs = 1_000;
const failedText = 'an attempt failed';
// A quota that resets in hours or days, nobody knows for which calls, is looked at again each hour.
const longestCoolDownMs = 3_600_000;

/**
 * Judges an attempt once, and tells everybody who learns from it: the breaker (refusals are neutral), the limiter (a
 * refusal cools the bucket down for all), the budget, the history of the call.
 */
export function classify(context: ClassifyContext): OperatorFunction<Attempted | Ended, Judged | Ended> {
  return map((work) => (work.kind === 'ended' ? work : judge(work, context)));
}

function judge(attempted: Attempted, context: ClassifyContext): Judged {
  const { clock, log, lanes, instruments } = context;
  const { job, turn, exchange, started, permit, tokenVersion, batch } = attempted;
  // Of a request that several calls went in, the others hear once.
  const reports = batch?.reports() ?? true;
  const { destination, plan } = job;
  const nowMs = clock.now();
  const ms = nowMs - started.atMs;
  const verdict = covered(destination.profile.classify(exchange, plan, clock.wall()), attempted);
  const effect = effectOnBreaker(verdict);

  const { breaker } = job;
  // Charged only while the bucket was healthy: an outage must not use up a record.
  const counts = effect === 'failure' ? (breaker?.healthy(nowMs) ?? true) : isFailure(verdict);
  const charged = batch?.charged(counts) ?? counts;
  if (breaker !== undefined && permit !== undefined) {
    if (effect === 'neutral') breaker.release(permit);
    else breaker.record(permit, nowMs, effect === 'failure', ms);
  }
  if (reports && effect === 'success') destination.width.answered(nowMs, destination.slots.inUse);
  // While the breaker is not closed its own slow start holds the load down, and a timeout tells of the outage.
  if (reports && verdict.kind === 'timeout' && charged) destination.width.timedOut(started.atMs, nowMs);
  if (reports && (verdict.class === 'rate-limited' || verdict.class === 'quota')) {
    rest(attempted, verdict, context);
  }
  if (verdict.class === 'success' || verdict.class === 'duplicate') {
    if (reports) destination.budget(plan.breakerKey).onSuccess();
    destination.brake.onSuccess();
  }
  // Only now: who is woken starts at once, and must find the bucket cooled down.
  if (permit !== undefined) lanes.wake(job.rooms.breaker);
  if (verdict.class === 'ambiguous' || verdict.mayHaveActed === true) mayHaveActed(job, started.atMs, tokenVersion);
  // For who looks closely: in an outage this comes for every attempt, and the result has it all.
  if (effect === 'failure') {
    const { class: kind, errorType, status } = verdict;
    const traceId = job.received.trace?.traceId;
    log.debug(
      { id: job.id, upstream: destination.name, api: plan.api, class: kind, errorType, status, ms, traceId },
      failedText,
    );
  }
  if (started.span !== undefined) {
    const facts = attemptFacts(job, started, verdict);
    job.received.trace?.attempted(started.span, { name: plan.api, fromMs: started.atMs, toMs: nowMs, ...facts });
  }
  instruments.attempted(job, verdict, ms);
  destination.own?.judged(attemptView(job), verdict, ms);
  if (batch === undefined) instruments.drewQuota(job, started.waited?.what === 'rate-limit' ? started.waited.ms : 0);
  job.attempted(started, ms, verdict, batch);
  const answer: Answer | undefined =
    exchange.kind === 'answered'
      ? { status: exchange.status, contentType: exchange.headers['content-type'], body: exchange.body }
      : undefined;
  return { kind: 'judged', job, turn, verdict, charged, tokenVersion, answer, batch };
}

/** What an upstream says about a failure may repeat a secret, or what nobody should see of the call. */
function covered(verdict: Verdict, { job: { call, destination }, exchange }: Attempted): Verdict {
  if (verdict.class === 'success') return verdict;
  const { cover } = destination;
  const reads = cover.hasFields && exchange.kind === 'answered';
  const said = reads ? jsonOrText(exchange.body.toString('utf8')) : undefined;
  return { ...verdict, message: cover.text(verdict.message, call.body, call.query, said) };
}

/** A refusal: the bucket rests, on all replicas, until the server's time is over. */
function rest(
  { job, started, batch }: Attempted,
  verdict: Verdict,
  { clock, random, log, instruments }: ClassifyContext,
): void {
  const { destination, plan } = job;
  const refusedKey = verdict.limitKey ?? (batch === undefined ? undefined : plan.batch?.limitKey);
  const limit = plan.limits.find(({ key }) => key === refusedKey) ?? plan.limits[0];
  if (limit === undefined) return;
  instruments.quotaRefused(job, limit);
  const askedMs = verdict.askedMs > 0 ? verdict.askedMs : verdict.class === 'quota' ? longestCoolDownMs : undefined;
  // Only a quota with a bucket of its own is known to be used up until the day it is renewed.
  const renewed = verdict.class === 'quota' && limit.key === verdict.limitKey;
  const restMs =
    askedMs === undefined
      ? unnamedWaitMs(unnamedCoolDownMs, clock.wall(), random)
      : spreadWaitMs(renewed ? askedMs : Math.min(askedMs, longestCoolDownMs), random);
  const extended = destination.limiter.refused(limit, restMs, clock.now(), started.atMs);
  if (!renewed || !extended) return;
  log.warn(
    { upstream: destination.name, bucket: limit.key, code: verdict.code, until: isoTime(clock.wall() + restMs) },
    'a quota is used up: its calls wait until it is renewed',
  );
}

/** What an attempt means to the breaker: an answer of any kind shows life, a refusal says nothing about health. */
function effectOnBreaker(verdict: Verdict): 'success' | 'failure' | 'neutral' {
  switch (verdict.class) {
    case 'rate-limited':
    case 'quota':
      return 'neutral';
    case 'ambiguous':
      return 'failure';
    case 'retryable':
      return verdict.kind === 'conflict' || verdict.kind === 'wait' ? 'success' : 'failure';
    case 'success':
    case 'duplicate':
    case 'auth':
    case 'permanent':
      return 'success';
  }
}

function isFailure(verdict: Verdict): boolean {
  return verdict.class === 'retryable' || verdict.class === 'ambiguous';
}
