import { CountRing, type Counts } from './count-ring.ts';

/** What was promised, and how fast the budget may burn before somebody is told. */
export interface SloOptions {
  /** Share of good events, above 0 and below 1. */
  readonly objective: number;
  /** Over how long that share is looked at, milliseconds. */
  readonly windowMs: number;
  /** Burn rates that page somebody, or open a ticket: 1 uses the budget up in exactly the window. */
  readonly burnRates: { readonly page: number; readonly ticket: number };
}

/** Numbers of the SRE workbook: 2 % of a month's budget in an hour pages, 5 % in six hours are a ticket. */
export const sloDefaults = {
  windowMs: 7 * 86_400_000,
  burnRates: { page: 14.4, ticket: 6 },
  latencyMs: 10_000,
} as const;

/** The burn rate when everything goes wrong: no limit at or above it is ever exceeded. */
export const mostBurnRate = (objective: number): number => 1 / (1 - objective);

/** Burn rates that tell somebody unless others are named: nine in ten gone wrong is always enough. */
export function defaultBurnRates(objective: number): SloOptions['burnRates'] {
  const most = mostBurnRate(objective) * 0.9;
  const { page, ticket } = sloDefaults.burnRates;
  return { page: Math.min(page, most), ticket: Math.min(ticket, most) };
}

/** One rule over two windows: the long one tells that it matters, the short one that it still goes on. */
export interface Burn {
  readonly severity: 'page' | 'ticket';
  readonly limit: number;
  readonly longMs: number;
  readonly shortMs: number;
  /** Rates in both windows: 1 uses the budget up in exactly the objective's window. */
  readonly longRate: number;
  readonly shortRate: number;
  readonly burning: boolean;
}

/** How an objective stands. */
export interface SloView extends Counts {
  readonly objective: number;
  readonly windowMs: number;
  /** Share of good events; `undefined` without any. */
  readonly measured: number | undefined;
  /** 1: nothing of the error budget is used, 0: all of it, below: more than there was. */
  readonly budgetLeft: number;
  readonly burns: readonly Burn[];
}

const windows = [
  { severity: 'page', longMs: 3_600_000, shortMs: 300_000 },
  { severity: 'ticket', longMs: 6 * 3_600_000, shortMs: 1_800_000 },
] as const;
const fineCellMs = 30_000;
const coarseCells = 672;
// One failure at night is no burning budget.
const fewBad = 5;

/** Good and bad events against an objective: what was measured, what is left of the error budget, how fast it burns. */
export class SloTracker {
  readonly #options: SloOptions;
  readonly #fine: CountRing;
  readonly #coarse: CountRing;

  /** @throws RangeError for an objective that is not between 0 and 1 */
  constructor(options: SloOptions) {
    const { objective, windowMs } = options;
    if (!(objective > 0 && objective < 1)) throw new RangeError(`slo.objective must be in (0, 1), got ${objective}`);
    this.#options = options;
    this.#fine = new CountRing(fineCellMs, windows[1].longMs / fineCellMs);
    this.#coarse = new CountRing(windowMs / coarseCells, coarseCells);
  }

  count(nowMs: number, counts: Counts): void {
    this.#fine.add(nowMs, counts);
    this.#coarse.add(nowMs, counts);
  }

  view(nowMs: number): SloView {
    const { objective, windowMs, burnRates } = this.#options;
    const { good, bad } = this.#coarse.within(nowMs, windowMs);
    const total = good + bad;
    const burns = windows.map(({ severity, longMs, shortMs }): Burn => {
      const limit = burnRates[severity];
      const long = this.#fine.within(nowMs, longMs);
      const longRate = this.#rate(long);
      const shortRate = this.#rate(this.#fine.within(nowMs, shortMs));
      const burning = longRate > limit && shortRate > limit && long.bad >= fewBad;
      return { severity, limit, longMs, shortMs, longRate, shortRate, burning };
    });
    return {
      ...{ objective, windowMs, good, bad, burns },
      measured: total === 0 ? undefined : good / total,
      budgetLeft: total === 0 ? 1 : 1 - bad / (total * (1 - objective)),
    };
  }

  #rate({ good, bad }: Counts): number {
    return good + bad === 0 ? 0 : bad / (good + bad) / (1 - this.#options.objective);
  }
}
