import { Observable, type Subscriber } from 'rxjs';

import type { Clock, Timers } from '../../ports/clock.ts';
import type { LimitKey } from '../../ports/profile.ts';
import type { QuotaLog, QuotaReply } from '../../ports/quota-log.ts';

import type { Bucket } from './bucket.ts';
import type { Grant, Taken } from './taken.ts';

/** What the handfuls of a limiter share. */
export interface HandfulParts {
  readonly log: QuotaLog;
  readonly clock: Clock;
  readonly timers: Timers;
  /** How long a grant may be kept, milliseconds. */
  readonly lifeMs: number;
  /** Takes in a reply; what it says for one start. */
  readonly learn: (limits: readonly LimitKey[], reply: QuotaReply, nowMs: number, askedMs: number) => Taken;
  /** So many grants went back unused. */
  readonly unused: (count: number) => void;
}

/**
 * Starts of calls that draw from one bucket alone. All that come while an ask is under way go with the next one, which
 * brings some starts ahead of need when lately they were used in time; those are given out at once, and go back when
 * nobody came for them within their life.
 */
export class Handful {
  readonly #parts: HandfulParts;
  readonly #bucket: Bucket;
  readonly #waiters: Subscriber<Taken>[] = [];
  #answeredMs = -Infinity;
  #limits: readonly LimitKey[] = [];
  #grant: Grant | undefined;
  #untilMs = 0;
  #cancelReturn = (): void => undefined;

  constructor(bucket: Bucket, parts: HandfulParts) {
    this.#bucket = bucket;
    this.#parts = parts;
  }

  /** A grant that is here already. */
  take(nowMs: number): Grant | undefined {
    const grant = this.#grant;
    if (grant === undefined || nowMs > this.#untilMs) return undefined;
    this.#bucket.inHand -= 1;
    if (this.#bucket.inHand === 0) {
      this.#cancelReturn();
      this.#grant = undefined;
    }
    return grant;
  }

  /** A grant of the log, or when to come back. Unsubscribing leaves the queue. */
  ask(limits: readonly LimitKey[]): Observable<Taken> {
    return new Observable((subscriber) => {
      this.#waiters.push(subscriber);
      if (!this.#bucket.asking) this.#send(limits);
      return () => {
        const at = this.#waiters.indexOf(subscriber);
        if (at >= 0) this.#waiters.splice(at, 1);
      };
    });
  }

  #send(limits: readonly LimitKey[]): void {
    const { log, clock, lifeMs } = this.#parts;
    const askedMs = clock.now();
    if (askedMs - this.#answeredMs <= lifeMs) this.#bucket.usedAhead(0);
    this.#bucket.asking = true;
    const want = (): number => this.#waiters.length + this.#bucket.aheadAt(askedMs);
    log.take({ limits, want, patienceMs: this.#bucket.patienceMs(askedMs) }).subscribe({
      next: (reply) => this.#answer(limits, reply, askedMs),
      error: (error: unknown) => {
        this.#bucket.asking = false;
        for (const waiter of this.#waiters.splice(0)) waiter.error(error);
      },
    });
  }

  #answer(limits: readonly LimitKey[], reply: QuotaReply, askedMs: number): void {
    const { clock, learn } = this.#parts;
    const nowMs = clock.now();
    this.#bucket.asking = false;
    this.#answeredMs = nowMs;
    const taken = learn(limits, reply, nowMs, askedMs);
    if (reply.kind === 'away') {
      // Each start is decided on its own: here nobody has counted for all of them.
      const [first, ...others] = this.#waiters.splice(0);
      if (first !== undefined) tell(first, taken);
      for (const waiter of others) tell(waiter, learn(limits, reply, nowMs, askedMs));
      return;
    }
    if (taken.kind !== 'granted') {
      for (const waiter of this.#waiters.splice(0)) tell(waiter, taken);
      return;
    }
    const served = this.#waiters.splice(0, reply.granted);
    this.#keep(limits, reply.granted - served.length, taken.grant, nowMs);
    // Full: those that came too late need not ask to know it.
    const full: Taken = { kind: 'wait', untilMs: nowMs + reply.waitMs, key: reply.key };
    const refused = reply.waitMs > 0 ? this.#waiters.splice(0) : [];
    if (this.#waiters.length > 0) this.#send(limits);
    for (const waiter of served) tell(waiter, taken);
    for (const waiter of refused) tell(waiter, full);
  }

  #keep(limits: readonly LimitKey[], count: number, grant: Grant, nowMs: number): void {
    if (count <= 0 || grant.stamp === undefined) return;
    this.#giveBack();
    this.#limits = limits;
    this.#grant = grant;
    this.#bucket.inHand = count;
    this.#untilMs = nowMs + this.#parts.lifeMs;
    this.#cancelReturn = this.#parts.timers.after(this.#parts.lifeMs + 1, () => this.#giveBack());
  }

  #giveBack(): void {
    this.#cancelReturn();
    const grant = this.#grant;
    if (grant?.stamp === undefined) return;
    const count = this.#bucket.inHand;
    this.#grant = undefined;
    this.#bucket.inHand = 0;
    this.#bucket.usedAhead(count);
    for (let i = 0; i < count; i++) this.#bucket.forget(grant.atMs);
    this.#parts.unused(count);
    this.#parts.log.giveBack(this.#limits, grant.stamp, count);
  }
}

function tell(waiter: Subscriber<Taken>, taken: Taken): void {
  waiter.next(taken);
  waiter.complete();
}
