import type { Metric } from 'prom-client';

import type { Labels } from '../../ports/metrics.ts';

/** One of the values that a bucket has counted, with the trace in which it was measured. */
export interface Exemplar {
  readonly traceId: string;
  readonly value: number;
}

/** What a histogram has seen under one set of labels. */
export class HistogramCell {
  readonly labels: Labels;
  sum = 0;
  readonly #bounds: readonly number[];
  /** Per bucket, not cumulative; the last one is for what is above all bounds. */
  readonly #counts: number[];
  /** The newest of each bucket that was measured in a trace. */
  readonly #exemplars: (Exemplar | undefined)[] = [];

  constructor(labels: Labels, bounds: readonly number[]) {
    this.labels = labels;
    this.#bounds = bounds;
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  /** @param traceId of the trace in which it was measured, if that is kept */
  observe(value: number, traceId?: string): void {
    let bucket = 0;
    while (bucket < this.#bounds.length && value > (this.#bounds[bucket] ?? Infinity)) bucket++;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.sum += value;
    if (traceId !== undefined) this.#exemplars[bucket] = { traceId, value };
  }

  /** Each bound with how many values were at or below it, and one of those that were not at or below the one before; `+Inf` for all. */
  *cumulative(): Iterable<readonly [bound: string, count: number, exemplar: Exemplar | undefined]> {
    let count = 0;
    for (const [bucket, inBucket] of this.#counts.entries()) {
      count += inBucket;
      yield [String(this.#bounds[bucket] ?? '+Inf'), count, this.#exemplars[bucket]];
    }
  }
}

/**
 * A histogram for prom-client's registry that reads its cells at the scrape: prom-client's own hashes all labels on each
 * value, which costs more than the rest of what is counted per call.
 */
export function histogramOf(name: string, help: string, cells: () => readonly HistogramCell[]): Metric {
  const values = () =>
    cells().flatMap((cell) => {
      const { labels, sum } = cell;
      const buckets = [...cell.cumulative()];
      return [
        ...buckets.map(([le, value, exemplar]) => ({
          metricName: `${name}_bucket`,
          labels: { le, ...labels },
          value,
          ...(exemplar === undefined ? {} : { exemplar }),
        })),
        { metricName: `${name}_sum`, labels, value: sum },
        { metricName: `${name}_count`, labels, value: buckets.at(-1)?.[1] ?? 0 },
      ];
    });
  const metric = {
    name,
    help,
    get: () => Promise.resolve({ name, help, type: 'histogram', aggregator: 'sum', values: values() }),
  };
  // All that a registry asks of a metric; the type wants the methods of those that are written to, too.
  return metric as unknown as Metric;
}
