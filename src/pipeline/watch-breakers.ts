import { isoTime } from '../model/time.ts';
import type { BreakerChange } from '../operators/breaker/breaker.ts';
import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import type { Metrics } from '../ports/metrics.ts';

import { type LookAfter, lookAfterBreakers } from './look-after-breakers.ts';

/** What watching needs. */
export interface WatchContext {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** Returns what logs and counts each step of the breakers of a destination: an opening as a warning with upstream, reason and until when, others as news. */
export function watchBreakers({ clock, log, metrics }: WatchContext): LookAfter {
  const changes = metrics.counter('larkspur_breaker_changes_total', 'Steps of breakers, by the state they went to', [
    'upstream',
    'breaker',
    'to',
  ]);
  return lookAfterBreakers(({ name }, breakers) =>
    breakers.watch((key, change) => {
      const { from, forced, reason } = change;
      const to = forced === undefined ? change.to : `forced-${forced}`;
      changes.add({ upstream: name, breaker: key, to });
      const fields = { upstream: name, breaker: key, from, to, reason };
      if (to === 'open') log.warn({ ...fields, until: untilOf(change, clock) }, 'a breaker opened');
      else log.info(fields, 'a breaker changed');
    }),
  );
}

function untilOf({ untilMs = 0, atMs }: BreakerChange, clock: Clock): string {
  return isoTime(clock.wall() + untilMs - atMs);
}
