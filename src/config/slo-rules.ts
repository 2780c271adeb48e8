import { sloDefaults } from '../operators/slo/slo-tracker.ts';

import type { Report } from './not-above.ts';
import { notAbove } from './not-above.ts';
import type { Path } from './tree.ts';

/** Rules of a promise. */
export function sloRules(
  at: Path,
  slo: { readonly objective?: number; readonly burnRates?: { readonly page?: number; readonly ticket?: number } },
  report: Report,
): void {
  if (slo.objective === undefined) report([...at, 'objective'], 'is missing: what share is to go well, e.g. 0.999');
  const { page, ticket } = { ...sloDefaults.burnRates, ...slo.burnRates };
  notAbove(report, [...at, 'burnRates', 'ticket'], ticket, 'burnRates.page', page);
}
