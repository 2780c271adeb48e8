import { Observable, type Subscriber } from 'rxjs';

import { QuotaBook } from '../../../src/operators/limit/quota-book.ts';
import type { LimitKey } from '../../../src/ports/profile.ts';
import type {
  BucketView,
  QuotaAsk,
  QuotaFleet,
  QuotaLog,
  QuotaRefusal,
  QuotaReply,
} from '../../../src/ports/quota-log.ts';

import type { Process } from './process.ts';
import type { World } from './world.ts';

/** The server of the shared quota log: the book that decides, and whether it still holds what it was told. */
export class QuotaServer {
  /** Something was away or lost at some time, so the fleet may have counted apart. */
  troubled = false;
  book = new QuotaBook();
  epoch = 0;
  /** When it last forgot everything. */
  lostMs = -Infinity;
  /** Who is told of a rest that somebody was given. */
  readonly listeners: { readonly process: Process; readonly tell: (key: string, restMs: number) => void }[] = [];
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
    this.troubled = world.plan.faults.some(({ kind }) => kind.startsWith('claims-'));
  }

  /** A restart without its file. */
  loseAll(): void {
    this.book = new QuotaBook();
    this.epoch++;
    this.lostMs = this.#world.clock.now();
  }

  get replicas(): number {
    return this.#world.replicas.length;
  }
}

/** How long a client waits for an answer before it counts the log as away. */
const patienceMs = 250;

/** The way of one process to the shared quota log, on the same server as the claims: away, lossy and empty when they are. */
export class QuotaClient implements QuotaLog {
  readonly #process: Process;
  #messages = 0;

  constructor(process: Process) {
    this.#process = process;
  }

  take({ limits, want, aheadMs }: QuotaAsk): Observable<QuotaReply> {
    return this.#ask<QuotaReply>({ kind: 'away' }, (subscriber) => {
      const wanted = want();
      return (book, nowMs) => {
        const answer = book.take(limits, wanted, nowMs, aheadMs);
        return { answer, unwanted: () => subscriber.closed && this.giveBack(limits, answer.stamps) };
      };
    });
  }

  giveBack(limits: readonly LimitKey[], stamps: readonly number[]): void {
    this.#tell((book) => book.giveBack(limits, stamps));
  }

  record(limit: LimitKey, agoMs: readonly number[]): void {
    this.#tell((book, nowMs) => book.record(limit, agoMs, nowMs));
  }

  refused(refusal: QuotaRefusal): Observable<BucketView> {
    return this.#ask<BucketView>(undefined, () => (book, nowMs) => {
      const answer = book.refused(refusal, nowMs);
      this.#tellOthers(refusal.limit.key, answer.coolMs);
      return { answer };
    });
  }

  onRest(tell: (key: string, restMs: number) => void): void {
    this.#process.world.quota.listeners.push({ process: this.#process, tell });
  }

  ready(): boolean {
    return this.#process.world.weather.now('claims-away', this.#process.world.clock.now()) === undefined;
  }

  fleet(): QuotaFleet {
    const { replicas, epoch } = this.#process.world.quota;
    return { replicas, epoch: String(epoch) };
  }

  /** @param away what is answered when nothing came in time; `undefined`: nothing */
  #ask<A>(
    away: A | undefined,
    begin: (
      subscriber: Subscriber<A>,
    ) => (book: QuotaBook, nowMs: number) => { readonly answer: A; readonly unwanted?: () => unknown },
  ): Observable<A> {
    return new Observable<A>((subscriber) => {
      if (!this.#process.enter('quota')) return;
      const nth = this.#messages++;
      const apply = begin(subscriber);
      let over = false;
      const end = (answer: A | undefined): void => {
        if (over) return;
        over = true;
        if (answer !== undefined) subscriber.next(answer);
        subscriber.complete();
      };
      this.#process.after(patienceMs, () => end(away));
      this.#travel(nth, (book, nowMs) => {
        const { answer, unwanted } = apply(book, nowMs);
        this.#process.world.note(this.#process.name, 'asks for quota ->', wordOf(answer));
        if (this.#lost('reply', nth)) return;
        this.#process.deliver(this.#process.draw(0.2, 4, 'quota reply', nth), () => {
          unwanted?.();
          end(answer);
        });
      });
    });
  }

  #tell(apply: (book: QuotaBook, nowMs: number) => void): void {
    if (this.#process.enter('quota')) this.#travel(this.#messages++, apply);
  }

  /** As a channel does it: to whoever listens now, and nothing comes back. */
  #tellOthers(key: string, restMs: number): void {
    for (const { process, tell } of this.#process.world.quota.listeners) {
      if (process === this.#process) continue;
      process.deliver(process.draw(0.2, 4, 'quota rest', this.#messages), () => {
        tell(key, restMs);
      });
    }
  }

  #travel(nth: number, arrived: (book: QuotaBook, nowMs: number) => void): void {
    const { world } = this.#process;
    if (this.#lost('request', nth)) return;
    world.clock.at(this.#process.inLine('quota', this.#process.draw(0.2, 4, 'quota', nth)), () => {
      if (this.ready()) arrived(world.quota.book, world.clock.now());
    });
  }

  #lost(what: string, nth: number): boolean {
    const { world } = this.#process;
    const lossy = world.weather.now('claims-lossy', world.clock.now());
    return lossy !== undefined && this.#process.draw(0, 1, `quota ${what}`, nth) < lossy.share / 2;
  }
}

function wordOf(answer: unknown): string {
  if (typeof answer !== 'object' || answer === null) return '';
  return 'granted' in answer ? `granted ${String(answer.granted)}` : 'cooled down';
}
