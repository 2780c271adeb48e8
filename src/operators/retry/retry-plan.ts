import type { Random } from '../../ports/random.ts';

import { checkRetryOptions, holdStepsMs, type RetryOptions } from './options.ts';
import type { RetryBudget } from './retry-budget.ts';

/** Why a record leaves the process for a while. */
export type HoldWhy = 'attempts' | 'budget' | 'long-wait' | 'time';

/** What follows a failed attempt. `ms` is counted from now. */
export type Step =
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'hold'; readonly why: HoldWhy; readonly ms: number }
  | { readonly do: 'exhausted' }
  | { readonly do: 'too-late' };

/** Where a record stands after a failed attempt. */
export interface RetryState {
  /** Attempts made in a row in this process, this one included; >= 1. */
  readonly attempt: number;
  /** Attempts charged to the record over its whole life. */
  readonly charged: number;
  /** To the deadline; may be Infinity. */
  readonly leftMs: number;
  /** Wait that somebody asked for, the server or the breaker, or 0. */
  readonly askedMs: number;
  /** Since the first attempt in a row. */
  readonly elapsedMs: number;
  /** How often the record was held because of itself; default 0. */
  readonly holds?: number;
}

const tooLate: Step = { do: 'too-late' };
const exhausted: Step = { do: 'exhausted' };

/** Decides what follows a failed attempt that may be repeated. Sleeps nowhere, reads no clock; pure but for its Random. */
export class RetryPlan {
  readonly options: RetryOptions;
  readonly #random: Random;

  /** Throws a RangeError that names the first option out of its range. */
  constructor(options: RetryOptions, random: Random) {
    checkRetryOptions(options);
    this.options = options;
    this.#random = random;
  }

  /**
   * The back-off after attempt `n` (1 for the first), in whole milliseconds: `min(capMs, baseMs * 2^(n-1))`, spread by
   * the jitter, at least `floorMs`. Default spread: full jitter (Brooker, AWS 2015).
   */
  delayMs(n: number): number {
    const { baseMs, capMs, floorMs, jitter } = this.options;
    // The exponent is clamped before it is used: 2 ** 1024 is Infinity and would poison the product.
    const ceilingMs = Math.min(capMs, baseMs * 2 ** Math.min(Math.max(n - 1, 0), 30));
    const chance = this.#random.next();
    let spreadMs: number;
    if (jitter === 'full') spreadMs = chance * ceilingMs;
    else if (jitter === 'equal') spreadMs = ceilingMs / 2 + (chance * ceilingMs) / 2;
    else if ('additive' in jitter) spreadMs = ceilingMs + chance * jitter.additive;
    else spreadMs = ceilingMs * (1 + jitter.proportional * (2 * chance - 1));
    return Math.max(floorMs, Math.floor(spreadMs));
  }

  /**
   * What follows, by the first rule that applies: too late for another attempt; out of charged attempts; held, because
   * the wait is long, the attempts in a row or their time are used up, or the budget is empty; else wait here.
   * Only a wait costs credit. A hold ends early enough for one last attempt before the deadline.
   */
  after(state: RetryState, budget: Pick<RetryBudget, 'tryWithdraw'>): Step {
    const { maxAttempts, attemptsInARow, longestVisitMs, longestWaitMs, minWorkMs } = this.options;
    const ms = Math.max(this.delayMs(state.attempt), state.askedMs);
    if (ms + minWorkMs > state.leftMs) return tooLate;
    if (state.charged >= maxAttempts) return exhausted;
    if (ms > longestWaitMs) return { do: 'hold', why: 'long-wait', ms };
    if (state.attempt >= attemptsInARow) return this.#hold('attempts', ms, state);
    if (state.elapsedMs >= longestVisitMs) return this.#hold('time', ms, state);
    return budget.tryWithdraw() ? { do: 'wait', ms } : this.#hold('budget', ms, state);
  }

  /** What follows an attempt that was not the record's fault (rate limit, open breaker): free of charge, only time counts. */
  afterRefusal(waitMs: number, leftMs: number): Step {
    if (waitMs + this.options.minWorkMs > leftMs) return tooLate;
    return waitMs > this.options.longestWaitMs
      ? { do: 'hold', why: 'long-wait', ms: waitMs }
      : { do: 'wait', ms: waitMs };
  }

  #hold(why: HoldWhy, leastMs: number, { leftMs, holds = 0 }: RetryState): Step {
    const stepMs = holdStepsMs[Math.min(holds, holdStepsMs.length - 1)] ?? 0;
    const spreadMs = Math.floor(stepMs * (0.8 + 0.2 * this.#random.next()));
    return { do: 'hold', why, ms: Math.max(leastMs, Math.min(spreadMs, leftMs - this.options.minWorkMs)) };
  }
}
