/** How a computed delay d is spread: U(0, d), d/2 + U(0, d/2), d x U(1 - r, 1 + r), or d + U(0, ms). */
export type Jitter = 'full' | 'equal' | { readonly proportional: number } | { readonly additive: number };

/** Retry budget: each success earns `perSuccess`, each retry in the process costs 1, never above `cap`. */
export interface BudgetOptions {
  readonly start: number;
  readonly perSuccess: number;
  readonly cap: number;
}

/** What may be set for retries. All times in milliseconds. */
export interface RetryOptions {
  /** Charged attempts, the first included, before the call ends as `attempts_exhausted`; >= 1. */
  readonly maxAttempts: number;
  /** Attempts one after another in this process before the call is held for longer; >= 1. */
  readonly attemptsInARow: number;
  /** Longest time from the first attempt in a row to the decision about the next; after it the call is held. */
  readonly longestVisitMs: number;
  /** Delay after the first attempt before jitter, doubles with each attempt; > 0. */
  readonly baseMs: number;
  /** No delay grows beyond this before jitter; >= baseMs. */
  readonly capMs: number;
  /** Shortest delay, because full jitter may draw 0. */
  readonly floorMs: number;
  readonly jitter: Jitter;
  /** A longer wait is a hold: it leaves the process where a delay topic exists. */
  readonly longestWaitMs: number;
  /** Less than this before the deadline is too late for another attempt. */
  readonly minWorkMs: number;
  readonly budget: BudgetOptions;
}

/** Defaults: full jitter (Brooker, AWS 2015), 200 ms doubling to 10 s. */
export const retryDefaults: RetryOptions = {
  maxAttempts: 20,
  attemptsInARow: 4,
  longestVisitMs: 30_000,
  baseMs: 200,
  capMs: 10_000,
  floorMs: 20,
  jitter: 'full',
  longestWaitMs: 5_000,
  minWorkMs: 300,
  budget: { start: 10, perSuccess: 0.1, cap: 50 },
};

/** How long a record is held by how often it was held before, before U(0.8, 1): one step per delay topic. */
export const holdStepsMs = [10_000, 60_000, 600_000, 3_600_000] as const;

/** Throws a RangeError that names option, range and value of the first mistake. */
export function checkRetryOptions(options: RetryOptions): void {
  const { maxAttempts, attemptsInARow, longestVisitMs, baseMs, capMs, floorMs, longestWaitMs, minWorkMs } = options;
  need(maxAttempts >= 1, 'maxAttempts', '>= 1', maxAttempts);
  need(attemptsInARow >= 1, 'attemptsInARow', '>= 1', attemptsInARow);
  need(longestVisitMs >= 0, 'longestVisitMs', '>= 0', longestVisitMs);
  need(baseMs > 0 && baseMs < Infinity, 'baseMs', '> 0', baseMs);
  need(capMs >= baseMs && capMs < Infinity, 'capMs', `>= baseMs (${baseMs})`, capMs);
  need(floorMs >= 0 && floorMs <= capMs, 'floorMs', `in [0, capMs (${capMs})]`, floorMs);
  need(longestWaitMs >= 0, 'longestWaitMs', '>= 0', longestWaitMs);
  need(minWorkMs >= 0 && minWorkMs < Infinity, 'minWorkMs', '>= 0', minWorkMs);
  const { jitter } = options;
  if (typeof jitter === 'string') return;
  if ('additive' in jitter) need(jitter.additive >= 0, 'jitter.additive', '>= 0', jitter.additive);
  else
    need(jitter.proportional >= 0 && jitter.proportional <= 1, 'jitter.proportional', 'in [0, 1]', jitter.proportional);
}

function need(holds: boolean, name: string, range: string, value: number): void {
  if (!holds) throw new RangeError(`retry.${name} must be ${range}, got ${value}`);
}
