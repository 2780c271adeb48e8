import { type BudgetOptions, retryDefaults } from './options.ts';

// Ten times 0.1 is 0.9999999999999999: credit is counted in whole thousandths.
const unit = 1_000;

/**
 * How many retries the successes of a bucket have earned. Keeps a failing upstream from being called twice as often
 * just because it fails (gRPC A6, SRE book): without successes, `start` retries and no more. Replicas share `start` and
 * `cap`, and each spends what its own successes earned, so the bound holds for all of them together.
 */
export class RetryBudget {
  readonly #earned: number;
  readonly #start: number;
  readonly #cap: number;
  readonly #replicas: () => number;
  /** `undefined` until it is needed: at the start nobody knows the replicas. */
  #left: number | undefined;

  /**
   * Throws a RangeError for a negative amount.
   * @param replicas processes that share the amounts; below 1 counts as 1
   */
  constructor(options: BudgetOptions = retryDefaults.budget, replicas: () => number = () => 1) {
    for (const name of ['start', 'perSuccess', 'cap'] as const) {
      if (!(options[name] >= 0)) throw new RangeError(`retry.budget.${name} must be >= 0, got ${options[name]}`);
    }
    this.#earned = Math.round(options.perSuccess * unit);
    this.#cap = Math.round(options.cap * unit);
    this.#start = Math.min(this.#cap, Math.round(options.start * unit));
    this.#replicas = replicas;
  }

  /** Retries that could be paid for now, with fractions. */
  get credit(): number {
    return this.#credit() / unit;
  }

  /** Pays for one retry, or says `false` and costs nothing. */
  tryWithdraw(): boolean {
    const credit = this.#credit();
    if (credit < unit) return false;
    this.#left = credit - unit;
    return true;
  }

  /** A call succeeded. */
  onSuccess(): void {
    this.#left = Math.min(this.#mostKept(), this.#credit() + this.#earned);
  }

  #credit(): number {
    return Math.min(this.#mostKept(), this.#left ?? this.#part(this.#start));
  }

  /** What successes have earned can be spent, however many replicas there are. */
  #mostKept(): number {
    return Math.min(this.#cap, Math.max(unit, this.#part(this.#cap)));
  }

  #part(amount: number): number {
    return Math.floor(amount / Math.max(1, this.#replicas()));
  }
}
