import { Subject } from 'rxjs';

import type { Config } from '../config/config.ts';
import { LarkspurError, messageOf } from '../model/errors.ts';
import { routeEvents } from '../pipeline/routes/route-events.ts';
import type { EventRoutes } from '../ports/event-routes.ts';

import type { Stores, WorldParts } from './stores.ts';

const longestStopMs = 5_000;

/** Routes that are fed. */
export interface RunningRoutes {
  /**
   * Lets events under way end for up to five seconds, commits, leaves the group. What did not end is routed again by the
   * next one, under the same ids.
   */
  stop(): Promise<void>;
}

/**
 * Reads `events` in a group of its own and routes them.
 * @param onFailure called once if the stream errors
 * @param told what became of each event
 * @param profile whose routes they are; each profile has its own group
 */
export function startRoutes(
  routes: EventRoutes,
  stores: Stores,
  parts: WorldParts,
  onFailure: (error: LarkspurError) => void,
  told: { routed(route: string, outcome: string): void },
  profile?: string,
): RunningRoutes {
  const outcomes = parts.metrics.counter('larkspur_routes_total', 'Events by route and what came of them', [
    'route',
    'outcome',
  ]);
  const source = stores.eventSource(profile);
  const stop$ = new Subject<void>();
  let tellEnded = (): void => undefined;
  const ended = new Promise<void>((resolve) => (tellEnded = resolve));
  const context = { ...parts, routes, source, sink: stores.sink, stop$ };
  const running = routeEvents(context)(source.event$).subscribe({
    complete: () => tellEnded(),
    next: (all) => {
      for (const { route, outcome } of all) {
        outcomes.add({ route, outcome });
        told.routed(route, outcome);
      }
    },
    error: (error: unknown) => {
      // Nothing that is under way can end any more, so nobody waits for it.
      tellEnded();
      onFailure(
        error instanceof LarkspurError ? error : new LarkspurError('internal', messageOf(error), { cause: error }),
      );
    },
  });
  return {
    stop: async () => {
      stop$.next();
      const cancel = parts.timers.after(longestStopMs, tellEnded);
      await ended;
      cancel();
      running.unsubscribe();
    },
  };
}

/** Whose routes a process runs: those of its profile, else those of none. One that is alone with its data runs all. */
export function profilesHere(
  { profiles, kafka }: Pick<Config, 'profiles' | 'kafka'>,
  profile: string | undefined,
): readonly (string | undefined)[] {
  if (profile !== undefined) return [profile];
  return kafka === undefined ? [undefined, ...Object.keys(profiles)] : [undefined];
}
