/** What a metric can be at all. */
export interface Range {
  readonly least: number;
  readonly most: number;
}

/** The range of a metric by its name, or of its share of others. @param of what it is a share of; empty: it is none */
export function rangeOf(metric: string, of: readonly string[]): Range {
  if (of.includes(metric)) return { least: 0, most: 1 };
  if (of.length > 0) return { least: -Infinity, most: Infinity };
  if (/^larkspur_health_score(_overall)?$/.test(metric)) return { least: 0, most: 100 };
  // What is overdrawn is below 0.
  if (metric === 'larkspur_slo_budget_left_ratio') return { least: -Infinity, most: 1 };
  if (/_(ratio|degraded|burning|active|paused)$/.test(metric)) return { least: 0, most: 1 };
  return { least: -Infinity, most: Infinity };
}

/**
 * Where it may be over when nobody says: a fifth of the bound below it (`above`), a tenth above it (`below`), so that what
 * hovers at the bound is neither beyond it nor over; but at most half the way to what the metric can be.
 */
export function defaultClear(
  { above, below = 0 }: { readonly above: number | undefined; readonly below: number | undefined },
  { least, most }: Range,
): number {
  if (above !== undefined) return above - Math.min(Math.abs(above) * 0.2, Math.max(0, above - least) / 2);
  return below + Math.min(Math.abs(below) * 0.1, Math.max(0, most - below) / 2);
}
