import { type HeldState, notBeforeOf, offMs } from '../model/held.ts';
import type { InRecord } from '../model/record.ts';

import type { BrokerClock } from './broker-clock.ts';
import { Job } from './job.ts';
import type { Received } from './received.ts';
import type { Request } from './request.ts';
import { type WaitReason, waitReasons } from './waits.ts';

/** What a call takes with it into a delay topic. @param untilMs monotonic: not before */
export function heldStateFor(job: Job, untilMs: number, why: WaitReason, brokerClock: BrokerClock): HeldState {
  const nowMs = brokerClock.now();
  const epochOf = (monotonicMs: number): number => Math.round(brokerClock.wall() + (monotonicMs - nowMs));
  const { firstAttemptMs, lastVerdict, longWait } = job;
  // One more step of the same wait: its end is not computed anew, so it does not move.
  const goesOn = longWait?.untilMs === untilMs;
  return {
    origin: job.received.origin,
    notBeforeMs: goesOn ? longWait.epochMs : epochOf(untilMs),
    restMs: Math.max(0, Math.ceil(untilMs - nowMs)),
    why,
    sinceMs: epochOf(job.waitsSinceMs(nowMs)),
    hop: goesOn ? longWait.hop + 1 : 1,
    deadlineMs: epochOf(job.deadlineMs),
    attemptsMade: job.attemptsMade,
    charged: job.charged,
    holds: job.holds,
    firstReadMs: epochOf(job.received.readAtMs),
    firstAttemptMs: firstAttemptMs === undefined ? undefined : epochOf(firstAttemptMs),
    inFlightMs: Math.round(job.inFlightMs),
    limitedMs: Math.round(job.limitedMs),
    last: lastVerdict === undefined ? undefined : { status: lastVerdict.status ?? 0, errorType: lastVerdict.errorType },
    attempts: job.attempts,
    ownMs: brokerClock.isKnown ? undefined : epochOf(nowMs),
    trace: job.received.trace?.traceparent,
  };
}

/**
 * The times of a state as monotonic ones. Those of a writer who knew only its own clock are moved by what that was off: the
 * broker dated the record when it was written. Where the reader does not know better either, both are taken for one clock.
 */
export function timesOf(state: HeldState, record: InRecord, brokerClock: BrokerClock) {
  const fromMs = brokerClock.now() - brokerClock.wall() + (brokerClock.isKnown ? offMs(state, record) : 0);
  return (epochMs: number): number => fromMs + epochMs;
}

/** The call of a record that was read from a delay topic, where it stood. */
export function resumed(received: Received, request: Request, state: HeldState, brokerClock: BrokerClock): Job {
  const nowMs = brokerClock.now();
  const wallMs = brokerClock.wall();
  const monotonicOf = timesOf(state, received.record, brokerClock);
  const job = new Job(received, request, monotonicOf(state.deadlineMs));
  const epochMs = notBeforeOf(state, received.record);
  job.spent.visitFromMs = monotonicOf(state.sinceMs);
  // It was written before now: no more is left than was then, whatever the clocks say.
  const untilMs = nowMs + Math.min(epochMs - wallMs, state.restMs);
  job.longWait = { untilMs, epochMs, hop: state.hop };
  job.mayBeEarly = state.why === 'full-lane' && job.orderingKey !== undefined;
  job.attemptsMade = state.attemptsMade;
  job.charged = state.charged;
  job.holds = state.holds;
  if (state.firstAttemptMs !== undefined) job.firstAttemptMs = monotonicOf(state.firstAttemptMs);
  job.inFlightMs = state.inFlightMs;
  job.limitedMs = state.limitedMs;
  job.lastVerdict = state.last;
  job.attempts.push(...state.attempts);
  job.waits(waitReasons.find((why) => why === state.why) ?? 'retry', monotonicOf(state.sinceMs));
  return job;
}
