/** Label values are bounded: names from configuration or closed lists, never ids, tenants or raw paths. */
export type Labels = Readonly<Record<string, string>>;

/** A number that only grows. */
export interface Counter {
  add(labels: Labels, by?: number): void;
}

/** A distribution. */
export interface Histogram {
  /** @param traceId of the trace in which it was measured, if that is kept: it may be shown as an example */
  observe(labels: Labels, value: number, traceId?: string): void;
}

/** Creates instruments. Names carry their unit; a gauge is read when somebody looks, never pushed. */
export interface Metrics {
  counter(name: string, help: string, labels: readonly string[]): Counter;
  histogram(name: string, help: string, labels: readonly string[], buckets: readonly number[]): Histogram;
  /** `read` is called at each scrape. */
  gauge(name: string, help: string, labels: readonly string[], read: () => Iterable<readonly [Labels, number]>): void;
}

/** Reads what instruments show, for what is decided by them: scores, playbooks. */
export interface MetricsReader {
  /**
   * The samples of a metric by its name on the page, as they are now; of a histogram `NAME_bucket` (with the label `le`),
   * `NAME_sum` and `NAME_count`. Of an unknown name, and of the process metrics of the runtime, none.
   */
  samples(name: string): Iterable<readonly [Labels, number]>;
  /** Whether there is such a metric, with a sample or without. */
  knows(name: string): boolean;
}

/** Instruments that measure nothing: for what runs beside the work, with names of its own. */
export const noMetrics: Metrics = {
  counter: () => ({ add: () => undefined }),
  histogram: () => ({ observe: () => undefined }),
  gauge: () => undefined,
};
