import type { Observable, OperatorFunction } from 'rxjs';

import { shortestOutsideMs } from '../../model/delay-topics.ts';
import { andThen } from '../../operators/interop/and-then.ts';
import { eachOf } from '../../operators/lanes/each-of.ts';
import type { FairLanes } from '../../operators/lanes/fair-lanes.ts';
import type { Logger } from '../../ports/logger.ts';
import { isCancelled } from '../endings.ts';
import type { Decoded, Ended, Job, Scheduled } from '../job.ts';
import type { Overflow } from '../overflow.ts';
import { waitUntil, type Waiting } from '../waiting.ts';
import type { WaitReason } from '../waits.ts';

import { placeOf } from './schedule.ts';

/** What hold needs. */
export interface HoldContext extends Waiting {
  readonly log: Logger;
  readonly minWorkMs: number;
  readonly overflow: Overflow;
  readonly lanes: FairLanes<Decoded>;
}

type Held = Observable<Scheduled | Ended> | Scheduled | Ended | undefined;

// While the register cannot be read nobody knows who is outside.
const registerLookMs = 500;
// Until all before it has been read again.
const earlyLookMs = 200;
// Where it leaves instead: for the shortest topic, and for what passes until that is decided.
const earlyOutsideMs = shortestOutsideMs + 100;

/**
 * Waiting outside: a call whose wait is long leaves for a delay topic before anybody claims it, one that comes back from
 * there goes on with its wait if that is not over, and one with an earlier call of its key outside lines up behind it.
 */
export function hold(context: HoldContext): OperatorFunction<Scheduled, Scheduled | Ended> {
  return eachOf((turn: Scheduled): Held => {
    const { item } = turn;
    // Who is cancelled acts no more, so it may end before those ahead of it.
    if (item.kind !== 'call' || isCancelled(item)) return turn;
    return item.awayMs === undefined ? holdOne(item, turn, context) : leave(item, item.awayMs, turn, context);
  });
}

/** Its lane is full. Where that cannot be written down any more it goes into it after all. */
function leave(job: Job, awayMs: number, turn: Scheduled, { clock, lines, turns, overflow }: HoldContext): Held {
  if (lines.mayLeave(job)) {
    const untilMs = clock.now() + awayMs;
    return { kind: 'ended', item: job, turn, ending: { kind: 'held', untilMs, why: 'full-lane', awayMs } };
  }
  overflow.stays(job);
  turns.stay(job, turn, placeOf(job));
  return undefined;
}

function holdOne(job: Job, turn: Scheduled, context: HoldContext): Held {
  const { lines } = context;
  const { orderingKey, received } = job;
  if (orderingKey !== undefined && lines.of(received.partition) === undefined) return afterReading(job, turn, context);
  const wait = longestOf(job, context);
  if (wait === undefined) return turn;
  if (wait.why === 'order' && wait.untilMs + context.minWorkMs > job.deadlineMs) {
    job.outOfTime = true;
    return turn;
  }
  return waitUntil(job, turn, wait.untilMs, wait.why, context);
}

function afterReading(job: Job, turn: Scheduled, context: HoldContext): Held {
  const { lines, clock } = context;
  // To read takes the register over: that is for the owner of the partition alone, and may have been on its way for long.
  if (!lines.holds(job.received.partition)) return waitUntil(job, turn, clock.now(), 'order', context);
  if (!lines.readable()) return waitUntil(job, turn, clock.now() + registerLookMs, 'order', context);
  return andThen(lines.read(job.received.partition), (): Held => {
    if (isCancelled(job)) return turn;
    // Meanwhile one may have come that goes before it.
    return job.mayBeEarly ? waitUntil(job, turn, clock.now(), 'order', context) : holdOne(job, turn, context);
  });
}

interface Wait {
  readonly untilMs: number;
  readonly why: WaitReason;
}

/** What a call has to wait for before it may be claimed; `undefined` for nothing. */
function longestOf(job: Job, context: HoldContext): Wait | undefined {
  const { lines, overflow, clock, log } = context;
  const { longWait, leaving } = job;
  const ahead = lines.ahead(job);
  const isEarly = overflow.isEarly(job);
  if (longWait === undefined && leaving === undefined && ahead === undefined && !isEarly) return undefined;
  const nowMs = clock.now();
  if (longWait !== undefined && longWait.untilMs <= nowMs) job.longWait = undefined;
  const waits: Wait[] = [];
  if (longWait !== undefined) waits.push({ untilMs: longWait.untilMs, why: job.waitingFor ?? 'retry' });
  if (leaving !== undefined) waits.push(leaving);
  if (ahead !== undefined) {
    const untilMs = behind(lines.dueMs(ahead), nowMs);
    if (untilMs === undefined) {
      log.error(
        { key: ahead.key, offset: ahead.offset },
        'a call did not come back from its delay topic: its key goes on',
      );
      lines.forget(job, ahead);
      return longestOf(job, context);
    }
    waits.push({ untilMs, why: 'order' });
  }
  if (isEarly) waits.push({ untilMs: nowMs + earlyMs(job, nowMs, context), why: 'order' });
  job.leaving = undefined;
  const longest = waits.reduce((one, other) => (other.untilMs > one.untilMs ? other : one));
  return longest.untilMs > nowMs ? longest : undefined;
}

/** Where there is no room left, what is to be read first cannot come: it leaves, if it has the time for that. */
function earlyMs({ deadlineMs }: Job, nowMs: number, { lanes, minWorkMs }: HoldContext): number {
  const leftMs = deadlineMs - minWorkMs - nowMs;
  if (!lanes.hasRoom && leftMs >= earlyOutsideMs) return earlyOutsideMs;
  return Math.max(1, Math.min(earlyLookMs, leftMs - 1));
}

// A call that comes back is there at once, and its lane lets it go first: this is for one that is late.
const soonestLookMs = 1_000;
const longestLookMs = 3_600_000;
const lostAfterMs = 24 * 3_600_000;

/** Until when to stand behind a call that is outside: until it is due; the later it is, the longer. `undefined`: it is lost. */
function behind(dueMs: number, nowMs: number): number | undefined {
  const lateMs = nowMs - dueMs;
  if (lateMs > lostAfterMs) return undefined;
  return lateMs < 0 ? nowMs - lateMs : nowMs + Math.max(soonestLookMs, Math.min(lateMs, longestLookMs));
}
