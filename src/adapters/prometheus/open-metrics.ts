import type { Exemplar } from './histogram-cells.ts';

/** What a page in the format OpenMetrics is served as. */
export const openMetricsType = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

/** One metric as prom-client hands it over. */
export interface MetricValues {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly values: readonly {
    readonly metricName?: string;
    readonly labels?: Readonly<Record<string, string | number>>;
    readonly value: number;
    /** `null` of those that prom-client measures itself. */
    readonly exemplar?: Exemplar | null;
  }[];
}

/**
 * The page in OpenMetrics 1.0, the one text format that carries exemplars. prom-client has it, too, but renames its counters
 * for good while it writes it, so that its plain page is another one afterwards.
 */
export function openMetricsPage(metrics: readonly MetricValues[]): string {
  return `${metrics.flatMap(linesOf).join('\n')}\n# EOF\n`;
}

function linesOf({ name, help, type, values }: MetricValues): string[] {
  const counts = type === 'counter';
  // There a counter's family goes by the name without the ending, its samples by the one with it.
  const family = counts ? name.replace(/_total$/, '') : name;
  return [
    `# HELP ${family} ${escaped(help)}`,
    `# TYPE ${family} ${type}`,
    ...values.map(({ metricName = counts ? `${family}_total` : name, labels = {}, value, exemplar }) => {
      const told = exemplar === undefined || exemplar === null ? '' : exemplarText(exemplar);
      return `${metricName}${labelsText(labels)} ${numberText(value)}${told}`;
    }),
  ];
}

function exemplarText({ traceId, value }: Exemplar): string {
  return ` # {trace_id="${traceId}"} ${numberText(value)}`;
}

function labelsText(labels: Readonly<Record<string, string | number>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(String(value))}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}

function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
}
