import type { Scenario } from '../../config/scenario.ts';

import { samplesOf } from './metric-text.ts';

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
const wanted = new Set([overall, ofUpstream, budget]);

/** Reads it out of the pages of metrics of all workers. */
export function standingOf(pages: readonly string[], upstreams: readonly string[]): Standing {
  const samples = pages.flatMap((page) => samplesOf(page, wanted));
  const scores = samples.filter(
    ({ name, labels }) => name === overall || (name === ofUpstream && upstreams.includes(labels['upstream'] ?? '')),
  );
  const budgets = samples.filter(
    ({ name, labels }) => name === budget && upstreams.some((upstream) => labels['slo'] === `upstream/${upstream}`),
  );
  return { score: lowest(scores), budgetLeft: lowest(budgets) };
}

function lowest(samples: readonly { readonly value: number }[]): number | undefined {
  return samples.length === 0 ? undefined : Math.min(...samples.map(({ value }) => value));
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
