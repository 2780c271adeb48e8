import { isDeepStrictEqual } from 'node:util';

import type { UpstreamConfig } from '../config/config.ts';
import { retryDefaults } from '../operators/retry/options.ts';
import { RetryBudget } from '../operators/retry/retry-budget.ts';
import type { QuotaLog } from '../ports/quota-log.ts';

/** One budget per breaker key, shared by all replicas: their number is bounded by the API groups of the catalogue. */
export function budgetsOf(retry: UpstreamConfig['retry'], quota: QuotaLog): (breakerKey: string) => RetryBudget {
  const options = retry === 'off' ? retryDefaults.budget : retry.budget;
  const byKey = new Map<string, RetryBudget>();
  return (breakerKey) => {
    let budget = byKey.get(breakerKey);
    if (budget === undefined) byKey.set(breakerKey, (budget = new RetryBudget(options, () => quota.fleet().replicas)));
    return budget;
  };
}

/** A retry budget for each breaker key, and those of the groups of APIs. */
interface Budgeted {
  budget(breakerKey: string): RetryBudget;
  readonly groups: ReadonlyMap<string, { budget(breakerKey: string): RetryBudget }>;
}

/** Gives a destination and its groups new budgets where their numbers have changed: those begin with what is set now, not with what was earned. */
export function replaceBudgets(
  destination: Budgeted,
  [before, after]: readonly [UpstreamConfig, UpstreamConfig],
  quota: QuotaLog,
): void {
  if (differ(before, after)) destination.budget = budgetsOf(after.retry, quota);
  for (const { name, policies } of after.groups) {
    const group = destination.groups.get(name);
    const old = before.groups.find((one) => one.name === name)?.policies;
    if (group !== undefined && old !== undefined && differ(old, policies)) {
      group.budget = budgetsOf(policies.retry, quota);
    }
  }
}

function differ({ retry: one }: UpstreamConfig, { retry: other }: UpstreamConfig): boolean {
  return one !== 'off' && other !== 'off'
    ? !isDeepStrictEqual(one.budget, other.budget)
    : (one === 'off') !== (other === 'off');
}
