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
