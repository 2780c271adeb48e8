import { EMPTY, type Observable, of, Subject } from 'rxjs';

import { type BreakerBus, type BreakerNews, probeQuietMs } from '../../src/ports/breaker-bus.ts';

import type { VirtualTime } from './virtual-time.ts';

/** What buses of one process share. */
interface Shared {
  readonly told: BreakerNews[];
  readonly buses: SharedBus[];
  /** Until when a probe is out and the next one is kept away, by breaker. */
  readonly out: Map<string, number>;
}

class SharedBus implements BreakerBus {
  readonly #news$ = new Subject<BreakerNews>();
  readonly news$ = this.#news$.asObservable();
  readonly #shared: Shared;
  readonly #time: VirtualTime;

  constructor(shared: Shared, time: VirtualTime) {
    this.#shared = shared;
    this.#time = time;
    shared.buses.push(this);
  }

  tell(news: BreakerNews): Observable<never> {
    const { told, out } = this.#shared;
    told.push(news);
    const name = nameOf(news.upstream, news.key);
    if (news.kind === 'probed' && this.#isOut(name)) out.set(name, this.#time.now() + probeQuietMs);
    for (const other of this.#shared.buses) if (other !== this) other.#news$.next(news);
    return EMPTY;
  }

  takeProbe(upstream: string, key: string, withinMs: number): Observable<boolean> {
    const name = nameOf(upstream, key);
    if (this.#isOut(name)) return of(false);
    this.#shared.out.set(name, this.#time.now() + withinMs + probeQuietMs);
    return of(true);
  }

  #isOut(name: string): boolean {
    return (this.#shared.out.get(name) ?? -Infinity) > this.#time.now();
  }
}

const nameOf = (upstream: string, key: string): string => `${upstream}|${key}`;

/** Buses of several workers in one process: what one tells, the others hear at once. */
export function sharedBreakerBuses() {
  const shared: Shared = { told: [], buses: [], out: new Map() };
  return { told: shared.told, next: (time: VirtualTime): BreakerBus => new SharedBus(shared, time) };
}
