import { Observable, type Subscriber } from 'rxjs';

import type { Clock, Timers } from '../../ports/clock.ts';
import type { LimitKey } from '../../ports/profile.ts';
import type { QuotaLog, QuotaReply } from '../../ports/quota-log.ts';

import { aheadMs } from './options.ts';
import { type Grant, narrowestKey, type Taken } from './taken.ts';

/** What the starts in hand of a limiter share. */
export interface HandParts {
  readonly log: QuotaLog;
  readonly clock: Clock;
  readonly timers: Timers;
  /** A start is made so soon after its time, or the log is told, milliseconds. */
  readonly lifeMs: number;
  /** A start is made now. */
  readonly start: (limits: readonly LimitKey[], grant: Grant) => Grant;
  /** Takes in a reply, and tells when on our clock each start that it granted may be made, and what comes after. */
  readonly learn: (limits: readonly LimitKey[], reply: QuotaReply, askedMs: number) => Learned;
  /** How long an ask may wait for others; 0 where there is enough for all. */
  readonly patienceMs: (limits: readonly LimitKey[]) => number;
}

/** What a reply means here. */
export interface Learned {
  readonly starts: readonly Grant[];
  /** What is said to each of those for whom there was none; `undefined`: they may ask again. */
  readonly others: (() => Taken) | undefined;
}

interface Start extends Grant {
  readonly keptUntilMs: number;
}

const mostAhead = 64;

/**
 * Starts that the log granted for calls that draw from the same buckets: each with its time, now or soon. All who ask
 * while an ask is under way go with the next one. Where there is enough for all it brings some starts ahead of need, when
 * lately they were used in time. A start that nobody came for goes back.
 */
export class StartsInHand {
  readonly limits: readonly LimitKey[];
  /** Whether one bucket alone limits them; keys without windows only rest. */
  readonly single: boolean;
  /** Calls that were let through and have not been started or sent back. */
  promised = 0;
  readonly #parts: HandParts;
  readonly #narrowest: string;
  readonly #waiters: Subscriber<Taken>[] = [];
  readonly #starts: Start[] = [];
  /** Starts in hand for which a call was told the time. */
  #appointed = 0;
  #ahead = 0;
  #asking = false;
  #answeredMs = -Infinity;
  #cancelReturn = (): void => undefined;

  constructor(limits: readonly LimitKey[], parts: HandParts) {
    this.limits = limits;
    this.single = limits.filter(({ windows }) => windows.length > 0).length === 1;
    this.#narrowest = narrowestKey(limits);
    this.#parts = parts;
  }

  get idle(): boolean {
    return this.promised === 0 && this.#starts.length === 0 && this.#waiters.length === 0 && !this.#asking;
  }

  /** Starts in hand. */
  get size(): number {
    return this.#starts.length;
  }

  /** When the next start may be made: of those with an appointment, else of those that were granted ahead of need. */
  nextMs(appointed: boolean): number | undefined {
    return appointed || this.#spare > this.promised ? this.#starts[0]?.atMs : undefined;
  }

  /** Makes a start whose time has come. */
  take(nowMs: number, appointed: boolean): Grant | undefined {
    const [start] = this.#starts;
    // A timer may be a little early. Who comes too late would come too close to the first of the next window.
    if (start === undefined || start.atMs > nowMs + 1 || start.keptUntilMs < nowMs) return undefined;
    if (!appointed && this.#spare <= 0) return undefined;
    this.#starts.shift();
    if (appointed) this.#appointed = Math.max(0, this.#appointed - 1);
    return this.#parts.start(this.limits, start);
  }

  /** A start, or when to come back. Unsubscribing leaves the queue. */
  ask(): Observable<Taken> {
    return new Observable((subscriber) => {
      this.#waiters.push(subscriber);
      if (!this.#asking) this.#send();
      return () => {
        const at = this.#waiters.indexOf(subscriber);
        if (at >= 0) this.#waiters.splice(at, 1);
      };
    });
  }

  /** Gives all of them back, or forgets them where the log cannot be told. */
  drop(tell: boolean): void {
    this.#cancelReturn();
    this.#appointed = 0;
    this.#giveBack(this.#starts.splice(0), tell);
  }

  get #spare(): number {
    return this.#starts.length - this.#appointed;
  }

  #send(): void {
    const { log, clock, lifeMs, patienceMs } = this.#parts;
    const askedMs = clock.now();
    const patience = patienceMs(this.limits);
    // What was granted ahead of need was used up in time: some more. Where it is scarce it is taken from others.
    if (!this.single || patience > 0) this.#ahead = 0;
    else if (askedMs - this.#answeredMs <= lifeMs) this.#ahead = Math.min(mostAhead, this.#most, this.#ahead * 2 + 1);
    this.#asking = true;
    const want = (): number => this.#waiters.length + this.#ahead;
    log.take({ limits: this.limits, want, patienceMs: patience, aheadMs }).subscribe({
      next: (reply) => this.#answer(reply, askedMs),
      error: (error: unknown) => {
        this.#asking = false;
        for (const waiter of this.#waiters.splice(0)) waiter.error(error);
      },
    });
  }

  get #most(): number {
    return Math.floor(Math.min(...this.limits.flatMap(({ windows }) => windows.map(({ limit }) => limit))) / 4);
  }

  #answer(reply: QuotaReply, askedMs: number): void {
    const { clock, learn, lifeMs } = this.#parts;
    const { starts, others } = learn(this.limits, reply, askedMs);
    const nowMs = clock.now();
    this.#asking = false;
    this.#answeredMs = nowMs;
    const told: [Subscriber<Taken>, Taken][] = [];
    for (const start of starts) {
      const waiter = this.#waiters.shift();
      const due = start.atMs <= nowMs;
      if (waiter !== undefined && due) {
        told.push([waiter, { kind: 'granted', grant: this.#parts.start(this.limits, start) }]);
        continue;
      }
      this.#starts.push({ ...start, keptUntilMs: Math.max(start.atMs, nowMs) + lifeMs });
      if (waiter === undefined) continue;
      this.#appointed += 1;
      told.push([waiter, { kind: 'wait', untilMs: start.atMs, key: this.#narrowest, appointed: true }]);
    }
    this.#starts.sort((a, b) => a.atMs - b.atMs);
    // Those that came too late for this ask, and those who wanted more than there was.
    if (others !== undefined) for (const waiter of this.#waiters.splice(0)) told.push([waiter, others()]);
    if (this.#waiters.length > 0) this.#send();
    this.#setReturn(nowMs);
    for (const [waiter, taken] of told) {
      waiter.next(taken);
      waiter.complete();
    }
  }

  #setReturn(nowMs: number): void {
    this.#cancelReturn();
    if (this.#starts.length === 0) return;
    const atMs = Math.min(...this.#starts.map(({ keptUntilMs }) => keptUntilMs));
    this.#cancelReturn = this.#parts.timers.after(Math.max(0, atMs - nowMs) + 1, () => this.#return());
  }

  #return(): void {
    const nowMs = this.#parts.clock.now();
    const over = this.#starts.filter(({ keptUntilMs }) => keptUntilMs <= nowMs);
    for (const start of over) this.#starts.splice(this.#starts.indexOf(start), 1);
    this.#ahead = Math.max(0, this.#ahead - over.length);
    this.#appointed = Math.min(this.#appointed, this.#starts.length);
    this.#giveBack(over, true);
    this.#setReturn(nowMs);
  }

  #giveBack(starts: readonly Start[], tell: boolean): void {
    if (starts.length === 0 || !tell) return;
    this.#parts.log.giveBack(
      this.limits,
      starts.map(({ stamp }) => stamp).filter((stamp) => stamp !== undefined),
    );
  }
}
