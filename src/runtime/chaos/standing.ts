import type { Scenario } from '../../config/scenario.ts';
import type { Labels } from '../../ports/metrics.ts';

import type { Samples } from './metric-text.ts';

/** How well things stand before somebody makes them worse. */
export interface Standing {
  /** The lowest health score, 0 to 100, of the workers and of the upstreams within the radius; `undefined`: nobody tells. */
  readonly score: number | undefined;
  /** The least share of an error budget that is left for one of them; `undefined`: nothing was promised of any. */
  readonly budgetLeft: number | undefined;
}

const overall = 'larkspur_health_score_overall';
const ofUpstream = 'larkspur_health_score';
const budget = 'larkspur_slo_budget_left_ratio';

/** Reads it out of the metrics of all workers. */
export function standingOf(workers: readonly Samples[], upstreams: readonly string[]): Standing {
  const valuesOf = (name: string, fits: (labels: Labels) => boolean): number[] =>
    workers.flatMap((metrics) => [...metrics.samples(name)].flatMap(([labels, value]) => (fits(labels) ? value : [])));
  const ofThose = valuesOf(ofUpstream, (labels) => upstreams.includes(labels['upstream'] ?? ''));
  const slos = new Set(upstreams.map((upstream) => `upstream/${upstream}`));
  return {
    score: lowest([...valuesOf(overall, () => true), ...ofThose]),
    budgetLeft: lowest(valuesOf(budget, (labels) => slos.has(labels['slo'] ?? ''))),
  };
}

function lowest(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : Math.min(...values);
}

/** Why a scenario must not be run now; `undefined`: it may. */
export function refusalOf({ guard, blastRadius }: Scenario, { score, budgetLeft }: Standing): string | undefined {
  const { minScore, minBudget } = guard;
  if (score === undefined) return 'no worker tells its health score, so nobody knows what would be risked';
  if (score < minScore) return `the health score is ${Math.round(score)}, below ${minScore}`;
  if (budgetLeft === undefined) return undefined;
  const left = `${Math.round(budgetLeft * 100)} % of the error budget of ${blastRadius.upstreams.join(', ')} is left`;
  // An empty budget refuses, however low the limit is set.
  return budgetLeft <= 0 || budgetLeft < minBudget
    ? `${left}, at least ${Math.round(minBudget * 100)} % is needed`
    : undefined;
}
