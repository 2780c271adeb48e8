import type { HandlerThread } from '../adapters/routes/handler-thread.ts';
import { type OpenRoutes, openRoutes } from '../adapters/routes/routes.ts';
import type { RouteSpec } from '../model/route.ts';
import type { Timers } from '../ports/clock.ts';
import type { Route } from '../ports/route.ts';

/** Routes that may be replaced while events come. */
export class LiveRoutes {
  readonly #timers: Timers;
  #open: OpenRoutes;
  // Those that ended with the change before are let go with the next: an event that came just then may still begin on one.
  #retired: HandlerThread[] = [];

  /** @throws LarkspurError `config_invalid` for an expression with a mistake */
  constructor(specs: readonly RouteSpec[], timers: Timers) {
    this.#timers = timers;
    this.#open = openRoutes(specs, timers);
  }

  /** Those that are for the next event. */
  get routes(): readonly Route[] {
    return this.#open.routes;
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

  /** Ends all threads. */
  async close(): Promise<void> {
    await Promise.all([this.#open, ...this.#retired].map((routes) => routes.close()));
  }
}
