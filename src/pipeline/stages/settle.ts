import type { Observable, OperatorFunction } from 'rxjs';

import type { Result } from '../../model/result.ts';
import { andThen } from '../../operators/interop/and-then.ts';
import { eachOf } from '../../operators/lanes/each-of.ts';
import type { FairLanes } from '../../operators/lanes/fair-lanes.ts';
import type { ClaimStore } from '../../ports/claim-store.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';
import type { RecordSink } from '../../ports/record-sink.ts';
import type { BrokerClock } from '../broker-clock.ts';
import type { Cancellations } from '../cancellations.ts';
import type { ClaimKeeper } from '../claim-keeper.ts';
import type { Instruments } from '../instruments.ts';
import type { Decoded, Ended, Ending, HeldClaim, Job, Settled } from '../job.ts';
import type { Lines } from '../lines.ts';
import type { OutcomeLines } from '../outcome-lines.ts';
import type { Overflow } from '../overflow.ts';
import type { Partitions } from '../partitions.ts';
import { cancelledRoom } from '../rooms.ts';
import type { MinuteBook } from '../spike/minute-book.ts';
import { type Terminal, terminalOf, withoutBody } from '../terminal-record.ts';
import { endFacts } from '../trace/facts.ts';
import type { Turns } from '../turns.ts';

import { laneOf, placeOf } from './schedule.ts';

/** What settle needs. */
export interface SettleContext {
  readonly clock: Clock;
  readonly brokerClock: BrokerClock;
  readonly claims: ClaimStore;
  readonly keeper: ClaimKeeper;
  readonly lines: Lines;
  readonly cancellations: Cancellations;
  readonly lanes: FairLanes<Decoded>;
  readonly partitions: Partitions;
  readonly sink: RecordSink;
  readonly turns: Turns;
  readonly overflow: Overflow;
  readonly instruments: Instruments;
  readonly outcomes: OutcomeLines;
  readonly minutes: MinuteBook;
  readonly log: Logger;
}

// Kept for a day or a week per call, so a large answer is kept without its body: a duplicate, and a redelivery after a crash
// in the moment before the result was written, get the rest of it.
const mostStoredChars = 256 * 1024;

// A topic that takes not even the bare record is misconfigured: its owner is told, the record is held, nothing is lost.
const misfitLookMs = 30_000;

// What is written down by a clock that was wrong by less does no harm: so long is the soonest look after who is late.
const clockSlackMs = 1_000;

/**
 * Writes the terminal record down, or for a call with a long wait its record in a delay topic: first into the claim, so
 * that a crash repeats the record and not the call, then into its topic, acknowledged by all replicas. Only then is the
 * record done. While the topic takes nothing, the turn is kept and with it everything behind.
 */
export function settle(context: SettleContext): OperatorFunction<Ended, Settled> {
  return eachOf((ended: Ended) => settleOne(ended, context));
}

function settleOne(ended: Ended, context: SettleContext): Observable<Settled> | Settled {
  const { item, ending } = ended;
  if (item.kind === 'call') {
    context.turns.leaveDoor(item);
    item.spent.endsAtMs ??= context.clock.now();
  }
  const terminal = terminalOf(item, ending, context);
  if (ending.kind === 'skipped' && ending.cancels !== undefined) return cancel(ending.cancels, ended, context);
  if (terminal === undefined) return settled(ended, context);
  if (item.kind !== 'call' || item.claim === undefined) return parkAndWrite(ended, terminal, context);
  return andThen(finish(item, item.claim, ending, terminal, context), (ours) => {
    context.keeper.forget(item);
    item.claim = undefined;
    return ours ? parkAndWrite(ended, terminal, context) : superseded(ended, context);
  });
}

/** Written down first: then whoever is granted the call later is told, also after a crash. */
function cancel(id: string, ended: Ended, context: SettleContext): Observable<Settled> {
  return andThen(context.claims.cancel(id, context.keeper.longestLifeMs), () => {
    context.cancellations.cancel(id);
    return settled(ended, context);
  });
}

function settled(
  { item, turn, ending }: Ended,
  { turns, overflow, clock, instruments, cancellations, lanes, outcomes, minutes }: SettleContext,
): Settled {
  turns.end(item, turn);
  const nowMs = clock.now();
  item.received.trace?.ended(nowMs, endFacts(item, ending));
  if (item.kind === 'call' && ending.kind !== 'held') {
    item.spent.written(nowMs);
    minutes.ended(item);
  }
  if (item.kind === 'call') {
    item.over = true;
    overflow.ended(item, ending.kind !== 'held');
    cancellations.over(item);
    if (item.pulled === 'now') {
      // What is left of it makes room for those behind.
      lanes.wake(cancelledRoom(item.id));
      const lane = laneOf(item.received.partition, item.orderingKey);
      if (lane !== undefined) lanes.rouse(lane);
    }
  }
  instruments.settled(item, ending);
  outcomes.ended(item, ending);
  return { received: item.received, ending: ending.kind };
}

/**
 * Who leaves is written down first: from then on nobody of its key goes before it. Once that stands its record is written
 * whoever has the partition by then: else its key would wait for one that never comes back.
 */
function parkAndWrite(ended: Ended, terminal: Terminal, context: SettleContext): Observable<Settled> | Settled {
  const { item, ending } = ended;
  if (ending.kind !== 'held' || item.kind !== 'call' || !context.partitions.holds(item.received.partition))
    return write(ended, terminal, context);
  const { lines, brokerClock } = context;
  const { originMs } = brokerClock;
  return andThen(lines.park(item, ending.untilMs), (stands) => {
    if (!stands || item.orderingKey === undefined) return write(ended, terminal, context);
    return append(ended, terminal, context, () => {
      const isWrong = Math.abs(brokerClock.originMs - originMs) > clockSlackMs;
      const parked$ = isWrong ? lines.parkAnew(item, ending.untilMs) : undefined;
      return parked$ === undefined ? settled(ended, context) : andThen(parked$, () => settled(ended, context));
    });
  });
}

/** Writes the terminal record. A partition that was lost meanwhile gets it from its next owner, out of the claim. */
function write(ended: Ended, terminal: Terminal, context: SettleContext): Observable<Settled> | Settled {
  const isOurs = context.partitions.holds(ended.item.received.partition);
  return isOurs ? append(ended, terminal, context) : settled(ended, context);
}

/** @param next once the record stands */
function append(
  ended: Ended,
  { record }: Terminal,
  context: SettleContext,
  next = () => unpark(ended, context),
): Observable<Settled> {
  if (ended.item.kind === 'call') ended.item.writesTo = record.topic;
  const { clock, brokerClock } = context;
  const sentMs = clock.now();
  return andThen(context.sink.append(record), (ack) => {
    if (ack.kind !== 'written') return smaller(ended, ack.limitBytes, context);
    if (ack.storedAtMs !== undefined) brokerClock.dated(ack.storedAtMs, sentMs);
    return next();
  });
}

/** With its terminal record written, whoever stands behind it may go. */
function unpark(ended: Ended, context: SettleContext): Observable<Settled> | Settled {
  const { item, ending } = ended;
  const unparked$ = ending.kind === 'held' ? undefined : context.lines.unpark(item.received);
  return unparked$ === undefined ? settled(ended, context) : andThen(unparked$, () => settled(ended, context));
}

/**
 * Ends the claim with the terminal record, or gives it back until a wait is over. `false`: somebody else has taken the call
 * over, and ends it.
 */
function finish(
  job: Job,
  { fence }: HeldClaim,
  ending: Ending,
  { json }: Terminal,
  { claims, keeper, clock }: SettleContext,
): Observable<boolean> {
  // Not to be claimed before its time, and remembered until then and for as long as ever after.
  const delayMs = ending.kind === 'held' ? Math.max(0, ending.untilMs - clock.now()) : 0;
  return claims.finish({
    claim: { id: job.id, fence },
    state: ending.kind === 'held' ? 'FAILED' : ending.kind === 'result' ? 'PROCESSED' : 'DEAD',
    result:
      ending.kind === 'result' && json.length > mostStoredChars ? JSON.stringify(withoutBody(ending.result)) : json,
    delayMs,
    ttlMs: keeper.lifeMsFor(job) + delayMs,
    nothingActed: job.ambiguousSinceMs === undefined,
  });
}

/**
 * A zombie's answer changes nothing: the record goes back to its lane and gets the answer of the call's new owner. Should
 * there be none, because the store has lost its memory, what is known here stands, and the call is not made again.
 */
function superseded({ item, turn, ending }: Ended, { turns, clock, instruments }: SettleContext): Settled | undefined {
  if (item.kind === 'call') {
    instruments.superseded(item);
    if (ending.kind !== 'held') item.endedHere = ending;
    item.spent.endsAtMs = undefined;
    item.waits('claim', clock.now());
    turns.back(item, turn, clock.now());
  }
  return undefined;
}

/** The answer is larger than its topic takes: the call was made and is not repeated, so what fits is written. */
function smaller(ended: Ended, limitBytes: number, context: SettleContext): Observable<Settled> | Settled | undefined {
  const { item, turn, ending } = ended;
  const { topic, partition, offset } = item.received.record;
  const at = `${topic}/${partition}/${offset}`;
  if (ending.kind === 'held' && item.kind === 'call') {
    context.log.warn({ at, limitBytes }, 'a record does not fit its delay topic: it waits in the process');
    item.fitsOutside = false;
    item.writesTo = undefined;
    item.spent.endsAtMs = undefined;
    if (item.awayMs !== undefined) {
      context.overflow.stays(item);
      context.turns.stay(item, turn, placeOf(item));
    } else context.turns.back(item, turn, ending.untilMs);
    return undefined;
  }
  const result = resultOf(ending);
  if (result !== undefined && (result.response?.body ?? result.response?.base64) !== undefined) {
    const message = `the answer of ${item.received.origin} is larger than results takes (${limitBytes} bytes)`;
    context.log.warn({ at, limitBytes }, message);
    const bare: Ending = { kind: 'result', result: withoutBody(result) };
    return settleOne({ ...ended, ending: bare }, context);
  }
  context.log.error(
    { at, limitBytes },
    'the terminal record does not fit its topic: raise max.message.bytes; the record is held',
  );
  if (item.kind === 'call') {
    item.writesTo = undefined;
    context.turns.back(item, turn, context.clock.now() + misfitLookMs);
  } else context.turns.later(turn, context.clock.now() + misfitLookMs);
  return undefined;
}

function resultOf(ending: Ending): Result | undefined {
  if (ending.kind === 'stored-result') return JSON.parse(ending.json) as Result;
  return ending.kind === 'result' ? ending.result : undefined;
}
