import { Observable, type Subscriber } from 'rxjs';

import { QuotaBook } from '../../../src/operators/limit/quota-book.ts';
import type { Clock, Timers } from '../../../src/ports/clock.ts';
import type { LimitKey } from '../../../src/ports/profile.ts';
import type {
  BucketView,
  QuotaAsk,
  QuotaFleet,
  QuotaLog,
  QuotaRefusal,
  QuotaReply,
} from '../../../src/ports/quota-log.ts';

/** A log somewhere else, in virtual time: each answer takes a while, and it may be away or lose what it holds. */
export class ScriptedQuotaLog implements QuotaLog {
  book: QuotaBook;
  /** How long a round trip takes. */
  rttMs = 1;
  away = false;
  replicas = 1;
  epoch = 'first';
  asks = 0;
  readonly recorded: (readonly number[])[] = [];
  readonly #time: Clock & Timers;
  readonly #stretchMs: number;

  constructor(time: Clock & Timers, stretchMs = 0) {
    this.#time = time;
    this.#stretchMs = stretchMs;
    this.book = new QuotaBook({ stretchMs });
  }

  /** Comes back empty. */
  loseAll(): void {
    this.book = new QuotaBook({ stretchMs: this.#stretchMs });
    this.epoch = `${this.epoch}+`;
  }

  take({ limits, want }: QuotaAsk): Observable<QuotaReply> {
    return this.#later((subscriber) => {
      const wanted = want();
      this.asks++;
      if (this.away) return { kind: 'away' };
      const answer = this.book.take(limits, wanted, this.#time.now());
      if (subscriber.closed) this.book.giveBack(limits, answer.stamp, answer.granted);
      return answer;
    });
  }

  giveBack(limits: readonly LimitKey[], stamp: number, count: number): void {
    this.book.giveBack(limits, stamp, count);
  }

  record(limit: LimitKey, agoMs: readonly number[]): void {
    this.recorded.push(agoMs);
    this.book.record(limit, agoMs, this.#time.now());
  }

  refused({ limit, coolMs }: QuotaRefusal): Observable<BucketView> {
    return this.#later(() => (this.away ? undefined : this.book.refused(limit, coolMs, this.#time.now())));
  }

  ready(): boolean {
    return !this.away;
  }

  fleet(): QuotaFleet {
    return { replicas: this.replicas, epoch: this.epoch };
  }

  #later<T>(answer: (subscriber: Subscriber<T>) => T | undefined): Observable<T> {
    return new Observable((subscriber) => {
      // Half of the way there, half of it back.
      this.#time.after(this.rttMs / 2, () => {
        const value = answer(subscriber);
        this.#time.after(this.rttMs / 2, () => {
          if (value !== undefined) subscriber.next(value);
          subscriber.complete();
        });
      });
    });
  }
}
