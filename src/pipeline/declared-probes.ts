import { EMPTY, filter, NEVER, Observable, of, Subscription } from 'rxjs';

import type { Exchange } from '../model/outcome.ts';
import type { Breaker } from '../operators/breaker/breaker.ts';
import { andThen } from '../operators/interop/and-then.ts';
import type { FairLanes } from '../operators/lanes/fair-lanes.ts';
import type { BreakerBus } from '../ports/breaker-bus.ts';
import type { Clock, Timers } from '../ports/clock.ts';
import type { HealthProbe } from '../ports/health-probe.ts';
import type { Logger } from '../ports/logger.ts';
import type { Metrics } from '../ports/metrics.ts';

import type { Destination } from './destination.ts';
import type { Decoded } from './job.ts';
import { lookAfterBreakers } from './look-after-breakers.ts';
import { breakerRoom } from './rooms.ts';

/** What the probes need. */
export interface ProbeContext {
  /** Calls back with each destination whose breakers are to be looked after, at once and later; returns what ends that. */
  eachDestination(look: (destination: Destination) => void): () => void;
  readonly lanes: FairLanes<Decoded>;
  /** Absent: this worker is alone. */
  readonly fleet?: BreakerBus | undefined;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/**
 * Sends the declared probe of each upstream whose breaker is open, one at a time, when the breaker says that it is due and no
 * other worker is at it; what another one's has shown counts as well. Wakes its calls when enough have succeeded. Breakers that were replaced are probed no more. Never emits, never ends; unsubscribing cancels what is under way.
 */
export function declaredProbes(context: ProbeContext): Observable<never> {
  return new Observable((subscriber) => {
    const { metrics } = context;
    const sent = metrics.counter('larkspur_probes_total', 'Declared probes of open breakers, by how they ended', [
      'upstream',
      'outcome',
    ]);
    const fail = (error: unknown): void => subscriber.error(error);
    const look = lookAfterBreakers((destination, breakers) => {
      const { probe, name } = destination;
      const probing = new Subscription();
      subscriber.add(probing);
      if (probe === undefined) return () => probing.unsubscribe();
      const told = (outcome: 'good' | 'bad'): void => sent.add({ upstream: name, outcome });
      probing.add(
        breakers.watch((key, { to }, breaker) => {
          if (to !== 'open') return;
          const isReplaced = (): boolean => breakers.find(key) !== breaker;
          const one = new Prober({ destination, probe, breaker, key, isReplaced, told, fail, ...context });
          const stop = (): void => one.stop();
          const heard = (context.fleet?.news$ ?? NEVER)
            .pipe(filter((news) => news.kind === 'probed' && news.upstream === name && news.key === key))
            .subscribe({ next: (news) => one.heard(news.kind === 'probed' && news.good), error: fail });
          one.ended = () => {
            heard.unsubscribe();
            probing.remove(heard);
            probing.remove(stop);
          };
          probing.add(heard);
          probing.add(stop);
          one.arm();
        }),
      );
      return () => probing.unsubscribe();
    });
    subscriber.add(context.eachDestination(look));
  });
}

interface ProberParts extends ProbeContext {
  readonly destination: Destination;
  readonly probe: HealthProbe;
  readonly breaker: Breaker;
  readonly key: string;
  /** Another breaker has taken its place: nobody asks it any more. */
  readonly isReplaced: () => boolean;
  readonly told: (outcome: 'good' | 'bad') => void;
  readonly fail: (error: unknown) => void;
}

/** The probes of one opening. */
class Prober {
  readonly #parts: ProberParts;
  #cancel = (): void => undefined;
  #sending: Subscription | undefined;
  ended = (): void => undefined;

  constructor(parts: ProberParts) {
    this.#parts = parts;
  }

  arm(): void {
    const { breaker, clock, timers } = this.#parts;
    const dueMs = breaker.probeDueMs;
    if (dueMs === undefined) this.ended();
    else this.#cancel = timers.after(dueMs - clock.now(), () => this.#send());
  }

  stop(): void {
    this.#cancel();
    this.#sending?.unsubscribe();
  }

  #send(): void {
    const { breaker, clock, destination, isReplaced, probe, fail } = this.#parts;
    if (isReplaced()) {
      this.ended();
      return;
    }
    const startedMs = clock.now();
    const generation = breaker.takeProbe(startedMs);
    if (generation === undefined) {
      // Timers may fire a little early; and a person may have closed it.
      this.arm();
      return;
    }
    const { fleet, key } = this.#parts;
    const { name, upstream } = destination;
    const ended$ = (exchange: Exchange): Observable<never> => {
      const nowMs = clock.now();
      const fault = faultOf(probe, exchange, nowMs - startedMs);
      breaker.reportProbe(generation, nowMs, fault === undefined);
      this.#tell(fault, nowMs);
      this.arm();
      return fleet?.tell({ kind: 'probed', upstream: name, key, good: fault === undefined }) ?? EMPTY;
    };
    const ours$ = fleet?.takeProbe(name, key, probe.withinMs) ?? of(true);
    this.#sending = andThen(ours$, (ours) => {
      if (ours) return andThen(upstream.send(probe.request, probe.withinMs), ended$);
      // Another worker is at it, and tells what came of it; else this one is given up, and the next is due.
      this.arm();
      return EMPTY;
    }).subscribe({ error: fail });
  }

  /** Another worker has probed. */
  heard(good: boolean): void {
    const { breaker, clock, destination, key, lanes } = this.#parts;
    const nowMs = clock.now();
    breaker.adoptProbe(nowMs, good);
    if (breaker.peek(nowMs) === undefined) lanes.wake(breakerRoom(destination.name, key));
    this.#cancel();
    this.arm();
  }

  #tell(fault: string | undefined, nowMs: number): void {
    const { breaker, destination, key, lanes, log, told } = this.#parts;
    told(fault === undefined ? 'good' : 'bad');
    log.info(
      { upstream: destination.name, breaker: key, ...(fault === undefined ? {} : { fault }) },
      fault === undefined ? 'the probe of an open breaker succeeded' : 'the probe of an open breaker failed',
    );
    if (breaker.peek(nowMs) === undefined) lanes.wake(breakerRoom(destination.name, key));
  }
}

function faultOf(probe: HealthProbe, exchange: Exchange, ms: number): string | undefined {
  if (exchange.kind === 'failed') return exchange.message;
  return ms > probe.withinMs ? `${Math.round(ms)} ms instead of ${probe.withinMs}` : probe.fault(exchange);
}
