import { Observable, type Subscription } from 'rxjs';

import type { Exchange } from '../../model/outcome.ts';
import { isoTime } from '../../model/time.ts';
import type { Clock, Timers } from '../../ports/clock.ts';
import type { HealthProbe } from '../../ports/health-probe.ts';
import type { Destination } from '../destination.ts';

import type { Checked, HealthCheck } from './health-state.ts';

/** What the checks need. */
export interface ActiveCheckContext {
  /** Calls back with each destination, also more than once; returns what ends that. */
  readonly eachDestination: (look: (destination: Destination) => void) => () => void;
  readonly clock: Clock;
  readonly timers: Timers;
}

/**
 * Asks each upstream with a declared health check how it is, at once and then at its interval, one question at a time; a check
 * that was replaced begins at once, too. It is for people: no call depends on it. Never emits, never ends; unsubscribing
 * cancels what is under way.
 */
export function activeChecks({ eachDestination, clock, timers }: ActiveCheckContext): Observable<never> {
  return new Observable((subscriber) => {
    const checks = new Map<Destination, HealthCheck>();
    const cancels = new Map<Destination, () => void>();
    const round = (destination: Destination, health: HealthCheck): void => {
      const startedMs = clock.now();
      const asking: Subscription = destination.upstream.send(health.probe.request, health.probe.withinMs).subscribe({
        next: (exchange) => {
          const ms = Math.round((clock.now() - startedMs) * 10) / 10;
          health.last = { ...verdictOn(exchange, health.probe), ms, at: isoTime(clock.wall()) };
          cancels.set(
            destination,
            timers.after(health.intervalMs, () => round(destination, health)),
          );
        },
        error: (error: unknown) => subscriber.error(error),
      });
      if (!asking.closed) cancels.set(destination, () => asking.unsubscribe());
    };
    const look = (destination: Destination): void => {
      const { health } = destination;
      if (health === checks.get(destination)) return;
      cancels.get(destination)?.();
      cancels.delete(destination);
      if (health === undefined) checks.delete(destination);
      else {
        checks.set(destination, health);
        round(destination, health);
      }
    };
    subscriber.add(eachDestination(look));
    subscriber.add(() => {
      for (const cancel of cancels.values()) cancel();
      cancels.clear();
    });
  });
}

function verdictOn(exchange: Exchange, probe: HealthProbe): Pick<Checked, 'state' | 'error'> {
  if (exchange.kind === 'failed') return { state: 'down', error: exchange.message };
  const error = probe.fault(exchange);
  return error === undefined ? { state: 'healthy' } : { state: 'unhealthy', error };
}
