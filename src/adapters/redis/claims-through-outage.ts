import { map, mergeMap, type Observable, of } from 'rxjs';

import { light } from '../../operators/interop/light.ts';
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
import type { Logger } from '../../ports/logger.ts';
import type { Counter, Metrics } from '../../ports/metrics.ts';

import { LocalClaims } from './local-claims.ts';
import { type AnsweredHere, Waiting } from './waiting.ts';

/** What the claims of an outage need. */
export interface OutageParts {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Logger;
  readonly metrics: Metrics;
}

// Long enough for a slow answer, short beside an outage.
const lookMs = 250;
const writtenDownAtOnce = 64;
const mostHeld = 50_000;

/** A claim that the store granted, and until when its call may go on without the store. */
interface Held {
  readonly request: ClaimRequest;
  readonly untilMs: number;
}

/**
 * A {@link ClaimStore} that lets calls go on while Redis is away, where that is safe: those whose request says so
 * (`withoutStore`: repeats are harmless, or the platform still knows their key) are claimed in the memory of this process,
 * 50,000 ids at most; all others wait for the store. When it is back, what ended meanwhile is written down there.
 *
 * Another process may do the same call at the same time: then the platform's key keeps it one effect.
 */
export class ClaimsThroughOutage implements ClaimStore {
  readonly #store: ClaimStore;
  readonly #parts: OutageParts;
  readonly #local = new LocalClaims();
  /** Claims that the store granted and that may go on without it, by id. */
  readonly #held = new Map<string, Held>();
  /** Those who wait for the store's answer and may have one from here while it is away. */
  readonly #waiting = new Set<AnsweredHere>();
  readonly #granted: Counter;
  #cancelLook: (() => void) | undefined;
  #awaySinceMs: number | undefined;
  #writing = 0;
  #closed = false;

  constructor(store: ClaimStore, parts: OutageParts) {
    this.#store = store;
    this.#parts = parts;
    const { metrics } = parts;
    this.#granted = metrics.counter(
      'larkspur_claims_without_store_total',
      'Calls that went on while Redis was away',
      [],
    );
    metrics.gauge('larkspur_claims_without_store', 'Claims that Redis does not know yet', [], () => [
      [{}, this.#local.size],
    ]);
  }

  claim(request: ClaimRequest): Observable<ClaimReply> {
    const withoutMs = request.withoutStoreMs ?? 0;
    if (withoutMs <= 0 && !this.#local.has(request.id)) return this.#store.claim(request);
    const untilMs = this.#parts.clock.now() + withoutMs;
    const granted = (reply: ClaimReply): void => {
      if (reply.kind === 'granted') this.#hold({ request, untilMs });
    };
    const here = (): ClaimReply | undefined => this.#claimHere(request);
    return this.#orAway(this.#store.claim(request), here, granted, this.#local.has(request.id));
  }

  extend(claims: readonly Claim[], leaseMs: number): Observable<readonly boolean[]> {
    if (claims.every(({ id, fence }) => fence > 0 && !this.#held.has(id))) return this.#store.extend(claims, leaseMs);
    const nowMs = this.#parts.clock.now();
    const inStore = claims.filter(({ fence }) => fence > 0);
    const merged = (flags: readonly boolean[]): readonly boolean[] => {
      let at = 0;
      return claims.map((claim) =>
        claim.fence > 0 ? flags[at++] === true : this.#local.extend(claim, leaseMs, nowMs),
      );
    };
    const mayGoOn = inStore.every(({ id }) => (this.#held.get(id)?.untilMs ?? 0) >= nowMs + leaseMs);
    const asked$ = this.#store.extend(inStore, leaseMs).pipe(map(merged));
    return this.#orAway(asked$, () => (mayGoOn ? merged(inStore.map(() => true)) : undefined));
  }

  finish(finish: Finish): Observable<boolean> {
    const { id, fence } = finish.claim;
    if (fence < 0) return of(this.#endHere(finish));
    const held = this.#held.get(id);
    if (held === undefined) return this.#store.finish(finish);
    const here = (): true => {
      this.#held.delete(id);
      this.#local.adopt(held.request, finish);
      return true;
    };
    return this.#orAway(this.#store.finish(finish), here, () => void this.#held.delete(id));
  }

  view(id: string): Observable<ClaimView> {
    const known = this.#local.view(id);
    return known === undefined ? this.#store.view(id) : of(known);
  }

  cancel(id: string, ttlMs: number): Observable<Cancelled> {
    const known = this.#local.view(id);
    if (known !== undefined && known.kind !== 'pending') return of('ended');
    // Of a call that went on here the store knows nothing yet: it takes for untouched what may have been sent.
    const mayBeSent = (): boolean => known !== undefined || this.#local.has(id);
    return this.#store.cancel(id, ttlMs).pipe(map((found) => (found === 'kept' && mayBeSent() ? 'told' : found)));
  }

  ready(): boolean {
    return this.#store.ready();
  }

  /** Since when the store has been away, as monotonic time; `undefined` while it answers. */
  get awaySinceMs(): number | undefined {
    return this.#awaySinceMs;
  }

  /** Ends the background work; what was not written down stays with the platform's key. */
  close(): void {
    this.#closed = true;
    this.#cancelLook?.();
  }

  /**
   * The store's answer; while it is away the answer from here, where there is one.
   * @param answered told of the store's answer, before it is handed on
   */
  #orAway<A>(
    asked$: Observable<A>,
    here: () => A | undefined,
    answered?: (answer: A) => void,
    atOnce = false,
  ): Observable<A> {
    return light<A>((observer) => {
      const waiting = new Waiting(this.#waiting, here, observer, answered);
      if ((atOnce || !this.#store.ready()) && waiting.answerHere()) {
        this.#look();
        return waiting;
      }
      // Before the question: its answer may come at once and then ends the wait.
      this.#waiting.add(waiting);
      this.#look();
      return waiting.ask(asked$);
    });
  }

  #hold(held: Held): void {
    this.#held.set(held.request.id, held);
    // A claim whose partition moved away may never be ended here.
    if (this.#held.size > mostHeld) for (const id of this.#held.keys()) return void this.#held.delete(id);
  }

  #claimHere(request: ClaimRequest): ClaimReply | undefined {
    const reply = this.#local.claim(request, this.#parts.clock.now());
    if (reply?.kind === 'granted') this.#granted.add({});
    return reply;
  }

  #endHere(finish: Finish): boolean {
    const ours = this.#local.finish(finish);
    this.#look();
    return ours;
  }

  /** Looks after the store for as long as somebody waits for it or it does not know everything. */
  #look(): void {
    if (this.#cancelLook !== undefined || this.#closed) return;
    if (this.#waiting.size === 0 && this.#local.size === 0 && this.#awaySinceMs === undefined) return;
    this.#cancelLook = this.#parts.timers.after(lookMs, () => {
      this.#cancelLook = undefined;
      if (this.#store.ready()) this.#back();
      else this.#away();
      this.#look();
    });
  }

  #away(): void {
    if (this.#awaySinceMs === undefined) {
      this.#awaySinceMs = this.#parts.clock.now();
      this.#parts.log.warn({}, 'claims go on without Redis where the platform knows a key; other calls wait');
    }
    for (const waiting of [...this.#waiting]) waiting.answerHere();
  }

  #back(): void {
    if (this.#awaySinceMs !== undefined) {
      const awayMs = Math.round(this.#parts.clock.now() - this.#awaySinceMs);
      this.#parts.log.info({ awayMs, claims: this.#local.size }, 'claims are in Redis again');
      this.#awaySinceMs = undefined;
    }
    for (const ended of this.#local.ended(writtenDownAtOnce - this.#writing))
      this.#writeDown(ended.request, ended.finish);
  }

  /** Tells the store how a call ended while it was away. Whoever ended it there first stays first. */
  #writeDown(request: ClaimRequest, finish: Omit<Finish, 'claim'>): void {
    this.#writing++;
    const done = (known: boolean): void => {
      this.#writing--;
      if (known) this.#local.forget(request.id);
      else this.#local.writeLater(request.id);
      this.#look();
    };
    this.#store
      .claim(request)
      .pipe(
        mergeMap((reply) =>
          reply.kind === 'granted'
            ? this.#store.finish({ ...finish, claim: { id: request.id, fence: reply.fence } })
            : // Pending: our own question from before, whose answer was lost, or another worker that is at it.
              of(reply.kind !== 'pending'),
        ),
      )
      .subscribe({ next: done, error: () => done(false) });
  }
}
