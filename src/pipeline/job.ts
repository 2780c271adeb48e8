import type { Call } from '../model/call.ts';
import type { DeadLetterReason } from '../model/dead-letter.ts';
import type { Answer, Exchange, Verdict } from '../model/outcome.ts';
import type { Attempt, Result } from '../model/result.ts';
import type { TraceContext } from '../model/trace-context.ts';
import type { Breaker, Permit } from '../operators/breaker/breaker.ts';
import type { Turn } from '../operators/lanes/turn.ts';
import type { CallPlan } from '../ports/profile.ts';

import { entryOf } from './attempt-entry.ts';
import type { Destination } from './destination.ts';
import { doorOf } from './door.ts';
import type { Received } from './received.ts';
import type { Request } from './request.ts';
import { type Rooms, roomsOf } from './rooms.ts';
import type { SharedAttempt } from './shared-attempt.ts';
import { type Share, sharesOf } from './shares.ts';
import { TimeSpent } from './spike/time-spent.ts';
import type { LongWait, Waited, WaitReason } from './waits.ts';

/** How a record ends. */
export type Ending =
  | { readonly kind: 'result'; readonly result: Result }
  /** The terminal record that an earlier delivery of the same record stored, unchanged. */
  | { readonly kind: 'stored-result'; readonly json: string }
  | { readonly kind: 'stored-dead-letter'; readonly json: string }
  | {
      readonly kind: 'dead-letter';
      readonly reason: DeadLetterReason;
      readonly message: string;
      readonly class?: string;
      /** No attempt was made because the breaker is open. */
      readonly breakerOpen?: true;
      readonly faults?: readonly { readonly at: string; readonly message: string }[];
    }
  /** No end: the call goes on after a wait in a delay topic. */
  | {
      readonly kind: 'held';
      readonly untilMs: number;
      readonly why: WaitReason;
      /** It is meant for the topic of this wait, whatever is left of it when it is written. */
      readonly awayMs?: number;
    }
  /** Nothing to write: a tombstone, or a record that cancels the call of an id. */
  | { readonly kind: 'skipped'; readonly cancels?: string };

/** A claim that this process holds. */
export interface HeldClaim {
  readonly fence: number;
  /** Monotonic; before it nobody else can take over. */
  leaseUntilMs: number;
  /** Set when the store says that somebody else took over. */
  lost: boolean;
}

// The history of a result stays readable and its bytes bounded, however long an outage lasted.
const mostAttemptsKept = 20;

/** A call under way: what was asked, and what happened so far. The same object on every turn. */
export class Job {
  readonly kind = 'call';
  readonly received: Received;
  readonly call: Call;
  readonly id: string;
  readonly destination: Destination;
  readonly plan: CallPlan;
  /** How often a person has sent it again. */
  readonly round: number;
  /** Monotonic; `Infinity` for none. */
  readonly deadlineMs: number;
  /** Looked up once: it is asked three times per attempt. `undefined` for `breaker: off`. */
  breaker: Breaker | undefined;
  #policies: number;
  readonly shares: readonly Share[];
  /** Calls of one key and partition keep their order; `undefined`: in order with nobody. */
  readonly orderingKey: string | undefined;
  /** Where its lane waits for a slot, and for its breaker. */
  readonly rooms: Rooms;

  claim: HeldClaim | undefined;
  /** What its fallback is remembered by, once somebody asked. */
  answerKey: string | undefined;
  readonly attempts: Attempt[] = [];
  attemptsMade = 0;
  /** Attempts that count towards `maxAttempts`: made while the bucket was healthy. */
  charged = 0;
  inARow = 0;
  visitStartedMs = 0;
  holds = 0;
  tokenRetried = false;
  /** What its upstream was given after the last attempt, monotonic: whoever makes the next one waits as long. */
  retryAtMs = 0;
  /** The wait that it brought with it out of a delay topic, until that is over. */
  longWait: LongWait | undefined;
  /** Whether its record fits a delay topic, as far as is known. */
  fitsOutside = true;
  /** It would stand behind another call of its key past its deadline. */
  outOfTime = false;
  /** A wait that is long enough to leave the process, found by the gate of the lanes. */
  leaving: { readonly untilMs: number; readonly why: WaitReason } | undefined;
  /** As what it counts among those of its tenant, as long as it is here. */
  counted: { readonly flow: string; readonly waits: boolean } | undefined;
  /** Its lane is full: it goes by itself, to leave for so long, milliseconds. */
  awayMs: number | undefined;
  /** It comes from outside because its lane was full: earlier calls of its key may not have been read again yet. */
  mayBeEarly = false;
  /** Found by the gate of the lanes: what it asks is known, so it takes nothing of its upstream's. */
  needsNothing = false;
  /** How it is let through while quota is short, where its API has one that gives many: first, or with one that is. */
  seat: 'none' | 'lead' | 'ride' = 'none';
  /** A request with others did not tell what it would be answered: it goes by itself. */
  alone = false;
  /** Between its turn and its return to the lane or its end: then its permits and its claim are in use. */
  underWay = false;
  /** What it holds of its upstream's door; kept by the turns. */
  readonly door = doorOf();
  /** It goes back to its lane with a start of its own at a time. */
  appointed = false;
  /** Nobody wants it any more. */
  cancelled = false;
  /** It was taken out of its lane's turn, to end as cancelled. */
  pulled: 'never' | 'now' | 'before' = 'never';
  /** It has ended; what is left of it in its lane is nothing. */
  over = false;
  /** When the first attempt left whose outcome is unknown. */
  ambiguousSinceMs: number | undefined;
  /** Version of the token with which that attempt was made; unknown when an earlier owner made it. */
  ambiguousToken: number | undefined;
  /** Attempts whose outcome is unknown; one for all that earlier owners may have made. */
  ambiguousAttempts = 0;
  /** How it ended here, where the store did not take that ending: it no longer knew the claim as ours. */
  endedHere: Ending | undefined;
  /** The topic that its record is on the way to, once that is all that is missing. */
  writesTo: string | undefined;
  lastVerdict: Pick<Verdict, 'status' | 'errorType'> | undefined;
  firstAttemptMs: number | undefined;
  /** When the last attempt began. */
  lastAttemptMs = 0;
  inFlightMs = 0;
  limitedMs = 0;
  readonly spent: TimeSpent;
  #waiting: { readonly what: WaitReason; readonly sinceMs: number } | undefined;

  constructor(received: Received, request: Request, deadlineMs: number) {
    this.received = received;
    this.spent = new TimeSpent(received);
    this.call = request.call;
    this.id = request.id;
    this.destination = request.destination;
    this.plan = request.plan;
    this.round = request.round ?? 0;
    this.deadlineMs = deadlineMs;
    this.breaker = request.destination.breakers?.get(request.plan.breakerKey);
    this.#policies = request.destination.policies;
    this.shares = sharesOf(request.destination, request.plan);
    this.orderingKey = request.call.orderingKey ?? received.record.key?.toString('latin1');
    this.rooms = roomsOf(request.destination, request.plan.breakerKey);
  }

  /** Takes over what was replaced at its destination. Never while an attempt is out: its permit belongs to the old breaker. */
  adoptPolicies(): void {
    if (this.#policies === this.destination.policies) return;
    this.#policies = this.destination.policies;
    this.breaker = this.destination.breakers?.get(this.plan.breakerKey);
  }

  /** What the call waits for at present. */
  get waitingFor(): WaitReason | undefined {
    return this.#waiting?.what;
  }

  /** When that wait began, monotonic; `nowMs` where there is none. */
  waitsSinceMs(nowMs: number): number {
    return this.#waiting?.sinceMs ?? nowMs;
  }

  /** Notes the start of a wait; a wait for the same thing goes on. */
  waits(what: WaitReason, nowMs: number): void {
    if (this.#waiting?.what === what) return;
    this.#endWait(nowMs);
    this.spent.leftBuffers(nowMs);
    this.#waiting = { what, sinceMs: nowMs };
  }

  /** Notes an attempt that ended. */
  attempted(started: Started, ms: number, verdict: Verdict, batch?: SharedAttempt): void {
    this.attemptsMade++;
    this.inFlightMs += ms;
    this.spent.attempted(verdict, ms);
    if (this.attempts.length >= mostAttemptsKept) this.attempts.splice(1, 1);
    this.attempts.push(entryOf(started, ms, verdict, batch));
  }

  /** An attempt starts: ends the wait before it and says what it was. */
  starts(nowMs: number): Waited | undefined {
    this.firstAttemptMs ??= nowMs;
    this.lastAttemptMs = nowMs;
    return this.#endWait(nowMs);
  }

  #endWait(nowMs: number): Waited | undefined {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting === undefined) return undefined;
    const ms = nowMs - waiting.sinceMs;
    this.spent.waited(waiting.what, waiting.sinceMs, nowMs);
    if (waiting.what === 'rate-limit') this.limitedMs += ms;
    return { what: waiting.what, ms };
  }
}

/** A record that has its ending already: poison, or a tombstone. */
export interface Unworkable {
  readonly kind: 'unworkable';
  readonly received: Received;
  readonly ending: Ending;
}

/** What decode makes of a record. */
export type Decoded = Job | Unworkable;

/** A record whose turn has come: its lane is busy until the turn ends. */
export type Scheduled = Turn<Decoded>;

/** A call that is ours to make. */
export interface Claimed {
  readonly kind: 'claimed';
  readonly job: Job;
  readonly turn: Scheduled;
}

/** An attempt that has begun. */
export interface Started {
  readonly atMs: number;
  readonly wallMs: number;
  /** What the call waited for right before. */
  readonly waited: Waited | undefined;
  /** Its span, of a trace that is kept. */
  readonly span: TraceContext | undefined;
}

/** A call whose attempt has ended, before anybody judged it. */
export interface Attempted {
  readonly kind: 'attempted';
  readonly job: Job;
  readonly turn: Scheduled;
  readonly exchange: Exchange;
  readonly started: Started;
  /** `undefined` for `breaker: off`. */
  readonly permit: Permit | undefined;
  readonly tokenVersion: number | undefined;
  /** What it shares with those that went in the same request; absent: it went by itself. */
  readonly batch?: SharedAttempt;
}

/** A call with the judged answer of one attempt. */
export interface Judged {
  readonly kind: 'judged';
  readonly job: Job;
  readonly turn: Scheduled;
  readonly verdict: Verdict;
  /** Whether the attempt counts towards `maxAttempts`. */
  readonly charged: boolean;
  readonly tokenVersion: number | undefined;
  /** The answer's bytes, when one came. */
  readonly answer: Answer | undefined;
  readonly batch: SharedAttempt | undefined;
}

/** A record that needs nothing more than to be written down. */
export interface Ended {
  readonly kind: 'ended';
  readonly item: Decoded;
  readonly turn: Scheduled;
  readonly ending: Ending;
}

/** A record whose terminal record is durable. */
export interface Settled {
  readonly received: Received;
  readonly ending: Ending['kind'];
}
