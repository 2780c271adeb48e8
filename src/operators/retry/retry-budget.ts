import { type BudgetOptions, retryDefaults } from './options.ts';

// Ten times 0.1 is 0.9999999999999999: credit is counted in whole thousandths.
const unit = 1_000;

/**
 * How many retries the successes of a bucket have earned. Keeps a failing upstream from being called twice as often
 * just because it fails (gRPC A6, SRE book): without successes, `start` retries and no more.
 */
export class RetryBudget {
  readonly #earned: number;
  readonly #cap: number;
  #credit: number;

  /** Throws a RangeError for a negative amount. */
  constructor(options: BudgetOptions = retryDefaults.budget) {
    for (const name of ['start', 'perSuccess', 'cap'] as const) {
      if (!(options[name] >= 0)) throw new RangeError(`retry.budget.${name} must be >= 0, got ${options[name]}`);
    }
    this.#earned = Math.round(options.perSuccess * unit);
    this.#cap = Math.round(options.cap * unit);
    this.#credit = Math.min(this.#cap, Math.round(options.start * unit));
  }

  /** Retries that could be paid for now, with fractions. */
  get credit(): number {
    return this.#credit / unit;
  }

  /** Pays for one retry, or says `false` and costs nothing. */
  tryWithdraw(): boolean {
    if (this.#credit < unit) return false;
    this.#credit -= unit;
    return true;
  }

  /** A call succeeded. */
  onSuccess(): void {
    this.#credit = Math.min(this.#cap, this.#credit + this.#earned);
  }
}
