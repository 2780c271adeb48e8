import { openRoutes } from '../adapters/routes/routes.ts';
import type { Config } from '../config/config.ts';
import { LarkspurError, messageOf } from '../model/errors.ts';
import { routeEvents } from '../pipeline/routes/route-events.ts';

import type { Stores, WorldParts } from './stores.ts';

/** Routes that are fed. */
export interface RunningRoutes {
  /** Leaves the group and ends the handlers' threads. Events under way are routed again by the next one, under the same ids. */
  stop(): Promise<void>;
}

/**
 * Reads `events` in a group of its own and routes them.
 * @param onFailure called once if the stream errors
 * @throws {LarkspurError} `config_invalid` for an expression with a mistake
 */
export function startRoutes(
  { routes: specs }: Pick<Config, 'routes'>,
  stores: Stores,
  parts: WorldParts,
  onFailure: (error: LarkspurError) => void,
): RunningRoutes {
  const opened = openRoutes(specs, parts.timers);
  const outcomes = parts.metrics.counter('larkspur_routes_total', 'Events by route and what came of them', [
    'route',
    'outcome',
  ]);
  const source = stores.eventSource();
  const running = routeEvents({ ...parts, routes: opened.routes, source, sink: stores.sink })(source.event$).subscribe({
    next: (all) => {
      for (const { route, outcome } of all) outcomes.add({ route, outcome });
    },
    error: (error: unknown) =>
      onFailure(
        error instanceof LarkspurError ? error : new LarkspurError('internal', messageOf(error), { cause: error }),
      ),
  });
  return {
    stop: async () => {
      running.unsubscribe();
      await opened.close();
    },
  };
}
