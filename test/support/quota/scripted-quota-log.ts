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

/**
 * One process's way to a log somewhere else, in virtual time: what comes in one moment or while an answer is under way goes
 * together, each round trip takes a while, and the log may be away or lose what it holds.
 */
export class ScriptedQuotaLog implements QuotaLog {
  #book: QuotaBook;
  /** How long a round trip takes. */
  rttMs = 1;
  away = false;
  replicas = 1;
  epoch = 'first';
  roundTrips = 0;
  readonly recorded: (readonly number[])[] = [];
  readonly #time: Clock & Timers;
  readonly #others: readonly ScriptedQuotaLog[];
  readonly #listeners: ((key: string, restMs: number) => void)[] = [];
  #pending: (() => void)[] = [];
  #answers: (() => void)[] = [];
  #out = false;

  /** @param others logs of other processes that hear of a rest */
  constructor(time: Clock & Timers, book = new QuotaBook({ stretchMs: 0 }), others: readonly ScriptedQuotaLog[] = []) {
    this.#others = others;
    this.#time = time;
    this.#book = book;
  }

  /** What the log holds. */
  get book(): QuotaBook {
    return this.#book;
  }

  /** The log came back with other contents. */
  lose(book: QuotaBook): void {
    this.#book = book;
    this.epoch = `${this.epoch}+`;
  }

  take({ limits, want, aheadMs }: QuotaAsk): Observable<QuotaReply> {
    return this.#later((subscriber) => {
      const wanted = want();
      if (this.away) return { kind: 'away' };
      const answer = this.#book.take(limits, wanted, this.#time.now(), aheadMs);
      if (subscriber.closed) this.#book.giveBack(limits, answer.stamps);
      return answer;
    });
  }

  giveBack(limits: readonly LimitKey[], stamps: readonly number[]): void {
    this.#book.giveBack(limits, stamps);
  }

  record(limit: LimitKey, agoMs: readonly number[]): void {
    this.recorded.push(agoMs);
    this.#book.record(limit, agoMs, this.#time.now());
  }

  refused(refusal: QuotaRefusal): Observable<BucketView> {
    return this.#later(() => {
      if (this.away) return undefined;
      for (const other of this.#others) {
        if (other !== this) this.#time.after(this.rttMs / 2, () => other.#hear(refusal));
      }
      return this.#book.refused(refusal, this.#time.now());
    });
  }

  onRest(tell: (key: string, restMs: number) => void): void {
    this.#listeners.push(tell);
  }

  #hear({ limit, coolMs }: QuotaRefusal): void {
    for (const tell of this.#listeners) tell(limit.key, coolMs);
  }

  ready(): boolean {
    return !this.away;
  }

  fleet(): QuotaFleet {
    return { replicas: this.replicas, epoch: this.epoch };
  }

  #later<T>(carryOut: (subscriber: Subscriber<T>) => T | undefined): Observable<T> {
    return new Observable((subscriber) => {
      this.#pending.push(() => {
        const value = carryOut(subscriber);
        this.#answers.push(() => {
          if (value !== undefined) subscriber.next(value);
          subscriber.complete();
        });
      });
      if (this.#pending.length === 1 && !this.#out) this.#time.after(0, () => this.#goOut());
    });
  }

  /** Half of a round trip there, half of it back. */
  #goOut(): void {
    if (this.#out || this.#pending.length === 0) return;
    this.#out = true;
    this.roundTrips++;
    const steps = this.#pending.splice(0);
    this.#time.after(this.rttMs / 2, () => {
      for (const step of steps) step();
      const answers = this.#answers.splice(0);
      this.#time.after(this.rttMs / 2, () => {
        this.#out = false;
        for (const answer of answers) answer();
        this.#goOut();
      });
    });
  }
}
