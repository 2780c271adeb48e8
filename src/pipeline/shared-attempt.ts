import type { RetryBudget } from '../operators/retry/retry-budget.ts';

/** One request that several calls went in: who learns from attempts must hear of it once. */
export class SharedAttempt {
  /** How many went in it. */
  readonly calls: number;
  #reported = false;
  #charged: boolean | undefined;
  #paid: boolean | undefined;

  constructor(calls: number) {
    this.calls = calls;
  }

  /** Whether this is the call by which breaker, limiter and budget hear of the attempt: the first that asks. */
  reports(): boolean {
    const first = !this.#reported;
    this.#reported = true;
    return first;
  }

  /** Whether the attempt counts towards `maxAttempts`: for all of them as for the first, which may have opened the breaker. */
  charged(asFirst: boolean): boolean {
    return (this.#charged ??= asFirst);
  }

  /** The budget as these calls see it: the first that repeats pays for all, and where it cannot nobody does. */
  budget(of: Pick<RetryBudget, 'tryWithdraw'>): Pick<RetryBudget, 'tryWithdraw'> {
    return { tryWithdraw: () => (this.#paid ??= of.tryWithdraw()) };
  }
}
