import { Observable } from 'rxjs';
import { describe, expect, it } from 'vitest';

import { openEmbedded } from '../../../../src/adapters/embedded/embedded.ts';
import { ClaimsThroughOutage } from '../../../../src/adapters/redis/claims-through-outage.ts';
import type {
  Cancelled,
  Claim,
  ClaimReply,
  ClaimRequest,
  ClaimStore,
  ClaimView,
  Finish,
} from '../../../../src/ports/claim-store.ts';
import { collect } from '../../../support/collect.ts';
import { RememberingLogger } from '../../../support/remembering-logger.ts';
import { noLogger, noMetrics } from '../../../support/silent.ts';
import { VirtualTime } from '../../../support/virtual-time.ts';

/** A store that can go away: what is asked meanwhile waits, as with Redis, and is answered when it is back. */
class Leaving implements ClaimStore {
  readonly #inner: ClaimStore;
  readonly #back: (() => void)[] = [];
  #away = false;

  constructor(inner: ClaimStore) {
    this.#inner = inner;
  }

  leave(): void {
    this.#away = true;
  }

  comeBack(): void {
    this.#away = false;
    for (const task of this.#back.splice(0)) task();
  }

  claim(request: ClaimRequest): Observable<ClaimReply> {
    return this.#later(() => this.#inner.claim(request));
  }

  extend(claims: readonly Claim[], leaseMs: number): Observable<readonly boolean[]> {
    return this.#later(() => this.#inner.extend(claims, leaseMs));
  }

  finish(finish: Finish): Observable<boolean> {
    return this.#later(() => this.#inner.finish(finish));
  }

  view(id: string): Observable<ClaimView> {
    return this.#later(() => this.#inner.view(id));
  }

  cancel(id: string, ttlMs: number): Observable<Cancelled> {
    return this.#later(() => this.#inner.cancel(id, ttlMs));
  }

  ready(): boolean {
    return !this.#away;
  }

  #later<A>(ask$: () => Observable<A>): Observable<A> {
    return new Observable((subscriber) => {
      const go = (): void => {
        if (!subscriber.closed) subscriber.add(ask$().subscribe(subscriber));
      };
      if (this.#away) this.#back.push(go);
      else go();
    });
  }
}

function open() {
  const time = new VirtualTime();
  const embedded = openEmbedded({ data: 'memory', clock: time, timers: time, logger: noLogger, topics: [] });
  const store = new Leaving(embedded.claims);
  const log = new RememberingLogger();
  const claims = new ClaimsThroughOutage(store, { clock: time, timers: time, log, metrics: noMetrics });
  return { time, store, log, claims, inStore: embedded.claims };
}

const keyed: ClaimRequest = {
  id: 'k',
  origin: 'o',
  leaseMs: 30_000,
  ttlMs: 1e8,
  sent: true,
  withoutStoreMs: 2_880_000,
};
const unkeyed: ClaimRequest = { ...keyed, id: 'u', withoutStoreMs: 0 };
const end = (claim: Claim, result = 'done'): Finish => ({ claim, state: 'PROCESSED', result, delayMs: 0, ttlMs: 1e8 });
const fenceOf = (reply: ClaimReply | undefined): number => (reply?.kind === 'granted' ? reply.fence : Number.NaN);

describe('claims while their store is away', () => {
  it('cost nothing and change nothing while it is there', () => {
    const { claims, time } = open();
    time.advance(1_000);
    const before = time.pending;
    const asked = collect(claims.claim(keyed));
    expect(asked.values).toEqual([{ kind: 'granted', fence: 1, firstSentAgoMs: undefined, takeovers: 0 }]);
    expect(collect(claims.finish(end({ id: 'k', fence: 1 }))).values).toEqual([true]);
    // No timer is left behind.
    time.advance(1_000);
    expect(time.pending).toBe(before);
  });

  it('of a call with a key are granted here, of a call without one they wait', () => {
    const { claims, store, time, log } = open();
    store.leave();
    expect(collect(claims.claim(keyed)).values).toMatchObject([{ kind: 'granted', fence: -1 }]);
    const waits = collect(claims.claim(unkeyed));
    time.advance(60_000);
    expect(waits.values).toEqual([]);
    store.comeBack();
    expect(waits.values).toMatchObject([{ kind: 'granted', fence: 1 }]);
    time.advance(1_000);
    expect(log.lines.map(({ level }) => level)).toEqual(['warn', 'info']);
  });

  it('that were asked before it left are granted here once it counts as away', () => {
    const { claims, store, time } = open();
    store.leave();
    store.ready = () => true;
    const asked = collect(claims.claim(keyed));
    expect(asked.values).toEqual([]);
    store.ready = () => false;
    time.advance(250);
    expect(asked.values).toMatchObject([{ kind: 'granted', fence: -1 }]);
  });

  it('are known here: a second record waits, then gets the first result', () => {
    const { claims, store } = open();
    store.leave();
    const fence = fenceOf(collect(claims.claim(keyed)).values[0]);
    expect(collect(claims.claim({ ...keyed, origin: 'p' })).values).toMatchObject([{ kind: 'pending' }]);
    expect(collect(claims.finish(end({ id: 'k', fence }))).values).toEqual([true]);
    expect(collect(claims.finish(end({ id: 'k', fence }))).values).toEqual([false]);
    expect(collect(claims.claim({ ...keyed, origin: 'p' })).values).toEqual([
      { kind: 'processed', origin: 'o', result: 'done' },
    ]);
  });

  it('are written down when it is back, those from before that ended meanwhile too', () => {
    const { claims, store, time, inStore } = open();
    const before = fenceOf(collect(claims.claim({ ...keyed, id: 'before' })).values[0]);
    store.leave();
    const during = fenceOf(collect(claims.claim(keyed)).values[0]);
    expect(collect(claims.finish(end({ id: 'before', fence: before }, 'b'))).values).toEqual([true]);
    expect(collect(claims.finish(end({ id: 'k', fence: during }, 'd'))).values).toEqual([true]);
    store.comeBack();
    // The claim from before is still under its lease there: it is written down when that is over.
    time.advance(31_000);
    expect(collect(inStore.view('k')).values).toEqual([{ kind: 'processed', origin: 'o', result: 'd' }]);
    expect(collect(inStore.view('before')).values).toEqual([{ kind: 'processed', origin: 'o', result: 'b' }]);
  });

  it('leave the store what another worker wrote there first', () => {
    const { claims, store, time, inStore } = open();
    store.leave();
    const fence = fenceOf(collect(claims.claim(keyed)).values[0]);
    collect(inStore.claim({ ...keyed, origin: 'theirs' }));
    collect(inStore.finish(end({ id: 'k', fence: 1 }, 'theirs')));
    collect(claims.finish(end({ id: 'k', fence }, 'ours')));
    store.comeBack();
    time.advance(1_000);
    expect(collect(claims.claim(keyed)).values).toEqual([{ kind: 'processed', origin: 'theirs', result: 'theirs' }]);
  });

  it('are no calls that nobody has sent: one under way is told of its cancellation, one that has ended is not cancelled', () => {
    const { claims, store, inStore } = open();
    store.leave();
    collect(claims.claim(keyed));
    const ended = { id: 'ended', fence: fenceOf(collect(claims.claim({ ...keyed, id: 'ended' })).values[0]) };
    collect(claims.finish(end(ended)));
    // Asked before the store is back, and answered by it while the call goes on here.
    const underWay = collect(claims.cancel('k', 1e8));
    const untouched = collect(claims.cancel('untouched', 1e8));
    expect(collect(claims.cancel('ended', 1e8)).values).toEqual(['ended']);
    store.comeBack();
    expect([underWay.values, untouched.values]).toEqual([['told'], ['kept']]);
    expect(collect(claims.cancel('k', 1e8)).values).toEqual(['told']);
    // What the store was told of the id stays: it was nobody's there.
    expect(collect(inStore.claim({ ...keyed, origin: 'p' })).values).toMatchObject([{ cancelled: true }]);
  });

  it('are prolonged here while the key holds, and not a moment longer', () => {
    const { claims, store, time } = open();
    const request = { ...keyed, withoutStoreMs: 90_000 };
    const held = { id: 'k', fence: fenceOf(collect(claims.claim(request)).values[0]) };
    store.leave();
    const local = { id: 'l', fence: fenceOf(collect(claims.claim({ ...request, id: 'l' })).values[0]) };
    expect(collect(claims.extend([held, local], 30_000)).values).toEqual([[true, true]]);
    time.advance(60_001);
    const late = collect(claims.extend([held], 30_000));
    expect(late.values).toEqual([]);
    expect(collect(claims.extend([local], 30_000)).values).toEqual([[false]]);
    const again = collect(claims.claim({ ...request, id: 'l', withoutStoreMs: 29_999 }));
    time.advance(1_000);
    expect(again.values).toEqual([]);
    late.subscription.unsubscribe();
    again.subscription.unsubscribe();
  });

  it('never take more than 50,000 ids: then calls wait, and what ended longest ago makes room', () => {
    const { claims, store } = open();
    store.leave();
    const ask = (n: number) => collect(claims.claim({ ...keyed, id: `id-${n}` })).values[0];
    for (let n = 0; n < 50_000; n++) ask(n);
    expect(ask(50_000)).toBeUndefined();
    collect(claims.finish(end({ id: 'id-7', fence: -8 })));
    expect(ask(50_001)).toMatchObject({ kind: 'granted' });
    expect(ask(50_002)).toBeUndefined();
  });
});
