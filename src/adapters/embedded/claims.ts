import { Observable } from 'rxjs';

import type {
  Cancelled,
  Claim,
  ClaimReply,
  ClaimRequest,
  ClaimStore,
  ClaimView,
  Finish,
} from '../../ports/claim-store.ts';
import type { Clock, Timers } from '../../ports/clock.ts';

import { claimCodec } from './claim-codec.ts';
import {
  cancelStep,
  type ClaimRecord,
  claimStep,
  extendStep,
  finishStep,
  liveAt,
  type Step,
  viewOf,
} from './claim-rules.ts';
import type { Store, Table } from './store.ts';

const purgeEveryMs = 1000;
const purgeSlice = 500;
// So many claims are looked at for each write of one: a call writes twice, so about a quarter of those kept are dead at
// most, however many come and in whatever order their ids stand.
const looksPerWrite = 2;
const purgeSoonMs = 10;

/**
 * {@link ClaimStore} of one process. Decisions are made at once, in the order of the subscriptions; an answer that
 * changed something comes when the change is durable, so no crash can take back a claim that somebody acts on. Claims
 * past their time to live count as absent at once and are removed in the background.
 */
export class EmbeddedClaims implements ClaimStore {
  readonly #store: Store;
  readonly #table: Table<ClaimRecord>;
  readonly #clock: Clock;
  readonly #timers: Timers;
  #cancelPurge: () => void = () => undefined;
  #closed = false;
  #purging: IterableIterator<readonly [string, ClaimRecord]> | undefined;
  #looksDue = 0;
  /** Ids of the open claims that this process granted. */
  readonly #ours = new Set<string>();

  /** @param table keeps ids of one kind apart from those of another */
  constructor(store: Store, clock: Clock, timers: Timers, table = 'claims') {
    this.#store = store;
    this.#table = store.table(table, claimCodec);
    this.#clock = clock;
    this.#timers = timers;
    this.#armPurge();
  }

  claim(request: ClaimRequest): Observable<ClaimReply> {
    const { id } = request;
    return this.#step(id, (record, nowMs) => {
      const step = claimStep(this.#isOrphan(id, record) ? { ...record, untilMs: 0 } : record, request, nowMs);
      if (step.answer.kind === 'granted') this.#ours.add(id);
      return step;
    });
  }

  extend(claims: readonly Claim[], leaseMs: number): Observable<readonly boolean[]> {
    return this.#durably((nowMs) =>
      claims.map(({ id, fence }) => this.#apply(id, nowMs, (record) => extendStep(record, fence, leaseMs, nowMs))),
    );
  }

  finish(finish: Finish): Observable<boolean> {
    const { id } = finish.claim;
    return this.#step(id, (record, nowMs) => {
      const step = finishStep(record, finish, nowMs);
      if (step.answer) this.#ours.delete(id);
      return step;
    });
  }

  view(id: string): Observable<ClaimView> {
    return this.#durably((nowMs) => viewOf(liveAt(this.#table.get(id), nowMs)));
  }

  cancel(id: string, ttlMs: number): Observable<Cancelled> {
    return this.#step(id, (record, nowMs) => cancelStep(record, ttlMs, nowMs));
  }

  ready(): boolean {
    return this.#store.ready();
  }

  /** Stops the background work. */
  close(): void {
    this.#closed = true;
    this.#cancelPurge();
  }

  /** Only one process at a time holds the folder, so the owner of an open claim that is not ours is gone: no lease to wait for. */
  #isOrphan(id: string, record: ClaimRecord | undefined): record is ClaimRecord {
    return record?.state === 'PENDING' && !this.#ours.has(id);
  }

  #step<A>(id: string, decide: (record: ClaimRecord | undefined, nowMs: number) => Step<A>): Observable<A> {
    return this.#durably((nowMs) => this.#apply(id, nowMs, (record) => decide(record, nowMs)));
  }

  #apply<A>(id: string, nowMs: number, decide: (record: ClaimRecord | undefined) => Step<A>): A {
    const { next, answer } = decide(liveAt(this.#table.get(id), nowMs));
    if (next !== undefined) {
      this.#table.put(id, next);
      this.#looksDue += looksPerWrite;
    }
    return answer;
  }

  #durably<A>(decide: (nowMs: number) => A): Observable<A> {
    return new Observable<A>((subscriber) => {
      // Wall time, because leases must mean the same after a restart.
      const answer = decide(this.#clock.wall());
      this.#store.whenDurable(() => {
        subscriber.next(answer);
        subscriber.complete();
      });
    });
  }

  #armPurge(afterMs = purgeEveryMs): void {
    if (this.#closed) return;
    this.#cancelPurge = this.#timers.after(afterMs, () => {
      this.#purge();
      this.#looksDue = Math.max(0, this.#looksDue - purgeSlice);
      // On a full disk removals wait with everything else, and must not pile up.
      this.#store.whenDurable(() => this.#armPurge(this.#looksDue > purgeSlice ? purgeSoonMs : purgeEveryMs));
    });
  }

  /** Looks at one slice of the claims, from the beginning again after the last. */
  #purge(): void {
    this.#purging ??= this.#table.rows();
    const nowMs = this.#clock.wall();
    for (let i = 0; i < purgeSlice; i++) {
      const row = this.#purging.next();
      if (row.done === true) {
        this.#purging = undefined;
        return;
      }
      const [id, record] = row.value;
      if (liveAt(record, nowMs) === undefined && liveAt(this.#table.get(id), nowMs) === undefined) {
        this.#table.remove(id);
        this.#ours.delete(id);
      }
    }
  }
}
