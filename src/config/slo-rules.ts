import { defaultBurnRates, mostBurnRate } from '../operators/slo/slo-tracker.ts';

import type { Report } from './not-above.ts';
import { notAbove } from './not-above.ts';
import type { Path } from './tree.ts';

/** Rules of a promise. */
export function sloRules(
  at: Path,
  slo: { readonly objective?: number; readonly burnRates?: { readonly page?: number; readonly ticket?: number } },
  report: Report,
): void {
  const { objective } = slo;
  if (objective === undefined) {
    report([...at, 'objective'], 'is missing: what share is to go well, e.g. 0.999');
    return;
  }
  const rates = { ...defaultBurnRates(objective), ...slo.burnRates };
  notAbove(report, [...at, 'burnRates', 'ticket'], rates.ticket, 'burnRates.page', rates.page);
  const most = mostBurnRate(objective);
  for (const [name, rate] of Object.entries(rates)) {
    if (rate < most) continue;
    const reached = `with objective ${objective} it is at most ${Math.round(most * 100) / 100}`;
    report([...at, 'burnRates', name], `is ${rate}, which no burn rate exceeds: ${reached}`);
  }
}
