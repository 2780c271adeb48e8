import type { Labels, MetricsReader } from '../../ports/metrics.ts';
import { Increase } from '../health/increase.ts';

/** What a trigger looks at. */
export interface MeasureOptions {
  /** Name on the page of metrics. A counter is looked at as growth per second, anything else as it is. */
  readonly metric: string;
  /** Then it is a share: of these together, each with the same growth or value. */
  readonly of: readonly string[];
  /** Labels that a series must have. */
  readonly where: Labels;
  /** Over how long growth is looked at, milliseconds. */
  readonly overMs: number;
  /** A share of less than so many says nothing. */
  readonly atLeast: number;
  /** Of several series of a gauge the one that counts. */
  readonly worst: 'max' | 'min';
}

const isCounter = (name: string): boolean => /_(?:total|count|sum|bucket)$/.test(name);

/** Measures one thing out of the metrics of the process, from look to look. */
export class Measure {
  readonly #options: MeasureOptions;
  readonly #metrics: MetricsReader;
  readonly #growth = new Map<string, Increase>();
  #sinceMs: number | undefined;

  constructor(options: MeasureOptions, metrics: MetricsReader) {
    this.#options = options;
    this.#metrics = metrics;
  }

  /** The value as of now; `undefined`: nothing can be said yet. To be asked once a second. */
  look(nowMs: number): number | undefined {
    const { metric, of, overMs, atLeast } = this.#options;
    this.#sinceMs ??= nowMs;
    const part = this.#valueOf(metric, nowMs);
    const whole = of.map((name) => this.#valueOf(name, nowMs) ?? 0).reduce((sum, value) => sum + value, 0);
    if (of.length > 0) return part === undefined || whole < atLeast || whole === 0 ? undefined : part / whole;
    if (!isCounter(metric) || part === undefined) return part;
    const seconds = Math.min(overMs, nowMs - this.#sinceMs) / 1_000;
    return seconds === 0 ? undefined : part / seconds;
  }

  #valueOf(name: string, nowMs: number): number | undefined {
    const { where, overMs, worst } = this.#options;
    const values = [...this.#metrics.samples(name)]
      .filter(([labels]) => Object.entries(where).every(([label, value]) => labels[label] === value))
      .map(([, value]) => value);
    if (!isCounter(name)) return values.length === 0 ? undefined : Math[worst](...values);
    let growth = this.#growth.get(name);
    if (growth === undefined) this.#growth.set(name, (growth = new Increase(overMs)));
    growth.add(
      nowMs,
      values.reduce((sum, value) => sum + value, 0),
    );
    return growth.value;
  }
}
