import { isDeepStrictEqual } from 'node:util';

import type { SloConfig } from '../../config/slos.ts';
import { type SloView, SloTracker } from '../../operators/slo/slo-tracker.ts';
import { CallJudge } from '../../pipeline/health/call-judge.ts';
import type { House } from '../../pipeline/house.ts';
import type { Counter } from '../../ports/metrics.ts';
import type { WorldParts } from '../stores.ts';

/** A promise and how it stands. */
export type NamedSlo = SloView & { readonly name: string };

interface Kept {
  readonly config: SloConfig;
  readonly tracker: SloTracker;
}

/** Holds upstreams and routes to what was promised of them. Counts since the start of the process; Prometheus keeps more. */
export class Slos {
  readonly #clock: WorldParts['clock'];
  readonly #events: Counter;
  readonly #kept = new Map<string, Kept>();
  readonly #judge: CallJudge;

  constructor({ clock, metrics }: Pick<WorldParts, 'clock' | 'metrics'>, slos: readonly SloConfig[]) {
    this.#clock = clock;
    this.#events = metrics.counter('larkspur_slo_events_total', 'What went well and what did not, by promise', [
      'slo',
      'verdict',
    ]);
    this.#judge = new CallJudge({
      latencyMsOf: (upstream) => this.#kept.get(`upstream/${upstream}`)?.config.latencyMs,
      count: (upstream, good) => this.#count(`upstream/${upstream}`, good),
      clock,
    });
    const each = <T>(read: (view: NamedSlo) => T) => this.view().map(read);
    metrics.gauge('larkspur_slo_objective_ratio', 'Share that was promised to go well', ['slo'], () =>
      each(({ name, objective }) => [{ slo: name }, objective] as const),
    );
    metrics.gauge(
      'larkspur_slo_budget_left_ratio',
      'Share of the error budget that is left, as this process has seen it; below 0: overdrawn',
      ['slo'],
      () => each(({ name, budgetLeft }) => [{ slo: name }, budgetLeft] as const),
    );
    metrics.gauge('larkspur_slo_burn_limit', 'Burn rate above which somebody is told', ['slo', 'severity'], () =>
      each(({ name, burns }) => burns.map(({ severity, limit }) => [{ slo: name, severity }, limit] as const)).flat(),
    );
    metrics.gauge('larkspur_slo_burning', '1 while an error budget burns faster than it may', ['slo', 'severity'], () =>
      each(({ name, burns }) =>
        burns.map(({ severity, burning }) => [{ slo: name, severity }, burning ? 1 : 0] as const),
      ).flat(),
    );
    this.replace(slos);
  }

  /** Promises that are as before keep what was counted. */
  replace(slos: readonly SloConfig[]): void {
    const before = new Map(this.#kept);
    this.#kept.clear();
    for (const config of slos) {
      const known = before.get(config.name);
      const same = known !== undefined && isDeepStrictEqual(known.config, config);
      this.#kept.set(config.name, same ? known : { config, tracker: new SloTracker(config) });
      // A rate needs both from the start: a counter that appears with its first failure has not grown yet.
      for (const verdict of ['good', 'bad']) this.#events.add({ slo: config.name, verdict }, 0);
    }
  }

  /** Judges the calls of a worker from now on. */
  follow(house: House): void {
    house.instruments.onSettled((item, ending) => this.#judge.ended(item, ending));
  }

  /** Looks for calls that are late already; to be called once a second. */
  look(house: House): void {
    this.#judge.look(house);
  }

  /** An event was routed. */
  routed(route: string, good: boolean): void {
    this.#count(`route/${route}`, good);
  }

  /** How all promises stand, the one with the least budget left first. */
  view(): readonly NamedSlo[] {
    const nowMs = this.#clock.now();
    return [...this.#kept]
      .map(([name, { tracker }]) => ({ name, ...tracker.view(nowMs) }))
      .sort((a, b) => a.budgetLeft - b.budgetLeft);
  }

  #count(name: string, good: boolean): void {
    const kept = this.#kept.get(name);
    if (kept === undefined) return;
    kept.tracker.count(this.#clock.now(), good ? { good: 1, bad: 0 } : { good: 0, bad: 1 });
    this.#events.add({ slo: name, verdict: good ? 'good' : 'bad' });
  }
}
