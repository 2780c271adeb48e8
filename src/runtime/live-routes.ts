import { isObservable, map, type Observable } from 'rxjs';

import type { HandlerThread } from '../adapters/routes/handler-thread.ts';
import { type OpenRoutes, openRoutes } from '../adapters/routes/routes.ts';
import type { Event } from '../model/event.ts';
import { isFor, type RouteSpec } from '../model/route.ts';
import { type HotKey, HotKeys } from '../operators/cache/hot-keys.ts';
import type { Clock, Timers } from '../ports/clock.ts';
import type { EventRoutes } from '../ports/event-routes.ts';
import type { Route } from '../ports/route.ts';

/** Routes that may be replaced while events come: those of the configuration, then those of the table. */
export class LiveRoutes implements EventRoutes {
  readonly #timers: Timers;
  readonly #clock: Clock;
  readonly #table: EventRoutes | undefined;
  readonly #asked = new HotKeys();
  #open: OpenRoutes;
  // Those that ended with the change before are let go with the next: an event that came just then may still begin on one.
  #retired: HandlerThread[] = [];

  /** @throws LarkspurError `config_invalid` for an expression with a mistake */
  constructor(specs: readonly RouteSpec[], timers: Timers, clock: Clock, table?: EventRoutes) {
    this.#timers = timers;
    this.#clock = clock;
    this.#table = table;
    this.#open = openRoutes(specs, timers);
  }

  /** Whether there may be routes at all. */
  get any(): boolean {
    return this.#table !== undefined || this.#open.routes.length > 0;
  }

  /** What most events are about: `app/type`. */
  hot(): readonly HotKey[] {
    return this.#asked.hot(this.#clock.now());
  }

  routesFor(event: Pick<Event, 'app' | 'type'>): readonly Route[] | Observable<readonly Route[]> {
    this.#asked.count(`${event.app}/${event.type}`, this.#clock.now());
    const own = this.#open.routes.filter(({ spec }) => isFor(spec, event));
    const further$ = this.#table?.routesFor(event);
    if (further$ === undefined) return own;
    if (isObservable(further$)) return further$.pipe(map((routes) => [...own, ...routes]));
    return [...own, ...further$];
  }

  /**
   * Gets others ready. Returns a function that puts them in place; what is under way then ends with the routes that it began
   * with, and handlers that are configured as before keep their threads.
   * @throws LarkspurError `config_invalid` for an expression with a mistake
   */
  prepare(specs: readonly RouteSpec[]): () => void {
    const next = openRoutes(specs, this.#timers, this.#open.threads);
    return () => {
      this.#retired = [...this.#retired.filter(({ isBusy }) => isBusy), ...this.#open.retire(next)];
      this.#open = next;
    };
  }

  /** Those of them whose names fit. */
  only(mine: (name: string) => boolean): EventRoutes {
    return new SomeRoutes(this, mine);
  }

  /** Ends all threads. */
  async close(): Promise<void> {
    await Promise.all([this.#open, ...this.#retired].map((routes) => routes.close()));
  }
}

/** Those of some routes whose names fit. */
class SomeRoutes implements EventRoutes {
  readonly #all: EventRoutes;
  readonly #mine: (name: string) => boolean;

  constructor(all: EventRoutes, mine: (name: string) => boolean) {
    this.#all = all;
    this.#mine = mine;
  }

  routesFor(event: Pick<Event, 'app' | 'type'>): readonly Route[] | Observable<readonly Route[]> {
    const ofMine = (routes: readonly Route[]): readonly Route[] => routes.filter(({ spec }) => this.#mine(spec.name));
    const found$ = this.#all.routesFor(event);
    return isObservable(found$) ? found$.pipe(map(ofMine)) : ofMine(found$);
  }
}
