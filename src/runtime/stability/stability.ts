import { isoTime } from '../../model/time.ts';
import { type HostReading, overallScore } from '../../operators/health/health-score.ts';
import { HealthWatch } from '../../pipeline/health/health-watch.ts';
import { type StabilityGraph, stabilityGraph } from '../../pipeline/health/stability-graph.ts';
import type { House } from '../../pipeline/house.ts';
import type { MetricsReader } from '../../ports/metrics.ts';
import type { WorldParts } from '../stores.ts';

/** The scores of a worker, as `/admin/health-score` shows them. */
export interface Scores {
  readonly at: string;
  readonly overall: number;
  readonly upstreams: HealthWatch['latest'];
  readonly host: HostReading;
}

const lookEveryMs = 1_000;

const hostShares = {
  cpuPressure: 'larkspur_host_cpu_pressure_ratio',
  ioPressure: 'larkspur_host_io_pressure_ratio',
  memoryPressure: 'larkspur_host_memory_pressure_ratio',
  memoryLimit: 'larkspur_host_memory_limit_ratio',
} as const;

/** Looks once a second how a worker and its upstreams are, and tells whoever wants to know after each look. */
export class Stability {
  readonly #house: House;
  readonly #metrics: MetricsReader;
  readonly #parts: Pick<WorldParts, 'clock' | 'timers' | 'metrics'>;
  readonly #watch: HealthWatch;
  readonly #lookers = new Set<() => void>();
  #host: HostReading = {};
  #cancel = (): void => undefined;

  constructor(house: House, reader: MetricsReader, parts: Pick<WorldParts, 'clock' | 'timers' | 'metrics'>) {
    this.#house = house;
    this.#metrics = reader;
    this.#parts = parts;
    this.#watch = new HealthWatch(house, reader, parts.clock);
    parts.metrics.gauge('larkspur_health_score', '0 to 100: how well an upstream is', ['upstream'], () =>
      this.#watch.latest.map(({ upstream, score }) => [{ upstream }, score] as const),
    );
    parts.metrics.gauge('larkspur_health_score_overall', '0 to 100: how well this worker is', [], () => [
      [{}, this.scores().overall],
    ]);
  }

  /** Begins to look. */
  start(): void {
    this.#watch.look();
    this.#host = this.#readHost();
    for (const look of this.#lookers) look();
    this.#cancel = this.#parts.timers.after(lookEveryMs, () => this.start());
  }

  stop(): void {
    this.#cancel();
  }

  /** Calls back after each look, once a second. Returns what ends that. */
  onLook(look: () => void): () => void {
    this.#lookers.add(look);
    return () => void this.#lookers.delete(look);
  }

  scores(): Scores {
    const upstreams = this.#watch.latest;
    const weighted = upstreams.map(({ score, reading }) => ({ score, asked: reading.attempts + reading.waiting }));
    const overall = overallScore(weighted, this.#host);
    return { at: isoTime(this.#parts.clock.wall()), overall, upstreams, host: this.#host };
  }

  /** @param from id of a node; default: the sickest upstream */
  graph(from?: string): StabilityGraph {
    return stabilityGraph({ house: this.#house, health: this.#watch.latest, host: this.#host }, from);
  }

  #readHost(): HostReading {
    return Object.fromEntries(
      Object.entries(hostShares).map(([name, metric]) => [name, [...this.#metrics.samples(metric)][0]?.[1]]),
    );
  }
}
