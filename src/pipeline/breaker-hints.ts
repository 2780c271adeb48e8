import { Observable, Subscription } from 'rxjs';

import type { BreakerBus } from '../ports/breaker-bus.ts';
import type { Clock } from '../ports/clock.ts';

import type { Destination } from './destination.ts';
import { lookAfterBreakers } from './look-after-breakers.ts';

/** What hints need. */
export interface HintContext {
  /** Absent: this worker is alone. */
  readonly fleet?: BreakerBus | undefined;
  readonly destinations: ReadonlyMap<string, Destination>;
  /** Calls back with each destination whose breakers are to be looked after, at once and later; returns what ends that. */
  eachDestination(look: (destination: Destination) => void): () => void;
  readonly clock: Clock;
}

/**
 * Tells the other workers of each breaker that opens here, and this worker's breakers of those that open there, where both take
 * hints. Never emits, never ends.
 */
export function breakerHints(context: HintContext): Observable<never> {
  const { fleet, destinations, clock } = context;
  return new Observable((subscriber) => {
    if (fleet === undefined) return;
    const error = (thrown: unknown): void => subscriber.error(thrown);
    // What opens because of a hint is no news to anybody.
    let hearing = false;
    subscriber.add(
      context.eachDestination(
        lookAfterBreakers(({ name }, breakers) => {
          const watching = new Subscription(
            breakers.watch((key, { to, untilMs, atMs }, { takesHints }) => {
              if (to !== 'open' || untilMs === undefined || !takesHints || hearing) return;
              subscriber.add(
                fleet.tell({ kind: 'opened', upstream: name, key, forMs: untilMs - atMs }).subscribe({ error }),
              );
            }),
          );
          // One that has ended leaves by itself, so that reloads pile up nothing here.
          subscriber.add(watching);
          return () => watching.unsubscribe();
        }),
      ),
    );
    subscriber.add(
      fleet.news$.subscribe({
        next: (news) => {
          if (news.kind !== 'opened') return;
          hearing = true;
          destinations.get(news.upstream)?.breakers?.get(news.key).hinted(clock.now(), news.forMs);
          hearing = false;
        },
        error,
      }),
    );
  });
}
