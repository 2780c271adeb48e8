import { collectDefaultMetrics, Counter as PromCounter, Gauge as PromGauge, Registry } from 'prom-client';

import { LarkspurError } from '../../model/errors.ts';
import type { Counter, Histogram, Labels, Metrics, MetricsReader } from '../../ports/metrics.ts';

import { HistogramCell, histogramOf } from './histogram-cells.ts';
import { type MetricValues, openMetricsPage, openMetricsType } from './open-metrics.ts';
import { SeriesTable } from './series-table.ts';

/** What may be set for metrics. */
export interface MetricsOptions {
  /** Put before every name, the process metrics' included. Default: none. */
  readonly prefix?: string;
  /** Label sets per metric that are kept apart; further ones are counted under `other`. 1 or more, default 500. */
  readonly maxSeries?: number;
  /** Whether CPU, memory, GC and event-loop lag of the process are measured. Default true. */
  readonly processMetrics?: boolean;
  /** Whether who asks for OpenMetrics gets it, with exemplars. Default false: there are none without traces. */
  readonly exemplars?: boolean;
}

/** {@link Metrics} with the page that Prometheus reads. */
export interface ScrapableMetrics extends Metrics, MetricsReader {
  /** The page in the text format. Never fails because of one gauge: a reader that throws is left out and counted. */
  text(): Promise<string>;
  /** The page in the best format that an `accept` header takes. */
  page(accept: string | undefined): Promise<{ readonly contentType: string; readonly body: string }>;
}

type Sample = readonly [Labels, number];
type Reader = () => Iterable<Sample>;
type Trouble = 'bad_value' | 'label_overflow' | 'read_failed';

interface Sum {
  readonly labels: Labels;
  value: number;
}

/** Name of the counter that tells what the instruments themselves could not take. */
export const troubleMetric = 'larkspur_metrics_trouble_total';

/**
 * Creates {@link Metrics} on prom-client, in a registry of its own.
 *
 * Asking for the same instrument again gives the same one (gauges: one more reader); under another shape it throws
 * `internal`. A value that is not a finite number, or negative on a counter, is dropped and counted: measuring never
 * breaks the work measured. Counters and histograms add into cells of their own (prom-client hashes all labels on each step) and hand
 * their sums over at the scrape.
 */
export function createMetrics(options: MetricsOptions = {}): ScrapableMetrics {
  const { prefix = '', maxSeries = 500, processMetrics = true, exemplars = false } = options;
  const registry = new Registry();
  const instruments = new Map<string, { readonly shape: string; readonly instrument: unknown }>();
  const shown = new Map<string, Reader>();
  if (processMetrics) collectDefaultMetrics({ register: registry, prefix });

  const troubles = new PromCounter({
    name: prefix + troubleMetric,
    help: 'Samples that a metric could not take as they were, by metric and trouble',
    labelNames: ['metric', 'trouble'],
    registers: [registry],
  });
  const report = (metric: string, trouble: Trouble): void => troubles.inc({ metric, trouble });
  const tableOf = <Cell>(name: string, labelNames: readonly string[], create: (labels: Labels) => Cell) =>
    new SeriesTable({ labelNames, maxSeries, create, onOverflow: () => report(name, 'label_overflow') });

  function once<T>(name: string, shape: readonly unknown[], create: () => T): T {
    const wanted = JSON.stringify(shape);
    const known = instruments.get(name);
    if (known === undefined) {
      const instrument = create();
      instruments.set(name, { shape: wanted, instrument });
      return instrument;
    }
    if (known.shape !== wanted) {
      throw new LarkspurError('internal', `metric ${name} exists already in another shape: ${known.shape}`, {
        cure: 'Give the two metrics different names, or the same kind, labels and buckets.',
      });
    }
    // The shape starts with the kind, so equal shapes mean equal types.
    return known.instrument as T;
  }

  return {
    text: () => registry.metrics(),
    page: async (accept = '') =>
      exemplars && accept.includes('application/openmetrics-text')
        ? { contentType: openMetricsType, body: openMetricsPage(await valuesIn(registry)) }
        : { contentType: registry.contentType, body: await registry.metrics() },
    samples: (name) => shown.get(name)?.() ?? [],
    knows: (name) => shown.has(name),

    counter: (name, help, labels) =>
      once<Counter>(name, ['counter', ...labels], () => {
        const table = tableOf<Sum>(name, labels, (set) => ({ labels: set, value: 0 }));
        shown.set(name, () => table.cells().map(({ labels: set, value }) => [set, value]));
        const counter = new PromCounter({
          name: prefix + name,
          help,
          labelNames: labels,
          registers: [registry],
          collect() {
            counter.reset();
            for (const sum of table.cells()) counter.inc(sum.labels, sum.value);
          },
        });
        return {
          add(set, by = 1) {
            if (by >= 0 && by < Infinity) table.cellOf(set).value += by;
            else report(name, 'bad_value');
          },
        };
      }),

    histogram: (name, help, labels, buckets) =>
      once<Histogram>(name, ['histogram', labels, buckets], () => {
        const table = tableOf(name, labels, (set) => new HistogramCell(set, buckets));
        if (labels.length === 0) table.cellOf({});
        for (const [suffix, samples] of Object.entries(histogramSamples)) {
          shown.set(name + suffix, () => table.cells().flatMap(samples));
        }
        registry.registerMetric(histogramOf(prefix + name, help, () => table.cells()));
        return {
          observe(set, value, traceId) {
            if (Number.isFinite(value)) table.cellOf(set).observe(value, traceId);
            else report(name, 'bad_value');
          },
        };
      }),

    gauge: (name, help, labels, read) => {
      const readers = once<Reader[]>(name, ['gauge', ...labels], () => {
        const all: Reader[] = [];
        shown.set(name, () => all.flatMap((reader) => readable(reader)));
        const gauge = new PromGauge({
          name: prefix + name,
          help,
          labelNames: labels,
          registers: [registry],
          collect() {
            gauge.reset();
            // Without labels it is 0 again now; without a reading it shall say nothing.
            if (labels.length === 0) gauge.remove();
            let left = maxSeries;
            for (const reader of all) {
              try {
                for (const [set, value] of reader()) {
                  if (left-- > 0) gauge.set(set, value);
                  else report(name, 'label_overflow');
                }
              } catch {
                report(name, 'read_failed');
              }
            }
          },
        });
        return all;
      });
      readers.push(read);
    },
  };
}

/** The types of prom-client name its metric types by numbers; the values are words. */
async function valuesIn(registry: Registry): Promise<MetricValues[]> {
  return (await registry.getMetricsAsJSON()) as unknown as MetricValues[];
}

const histogramSamples: Readonly<Record<string, (cell: HistogramCell) => Sample[]>> = {
  _bucket: (cell) => [...cell.cumulative()].map(([le, count]) => [{ ...cell.labels, le }, count]),
  _sum: ({ labels, sum }) => [[labels, sum]],
  _count: (cell) => [[cell.labels, [...cell.cumulative()].at(-1)?.[1] ?? 0]],
};

/** What a gauge tells; one that throws tells nothing. */
function readable(reader: Reader): readonly Sample[] {
  try {
    return [...reader()];
  } catch {
    return [];
  }
}
