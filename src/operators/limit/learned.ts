import { factorRule } from './options.ts';

const { floor, leastKept, unexplained, firstStep, longestStep, everyMs, longestEveryMs } = factorRule;

/** After two steps, of which the first was not refused, the step is as long. */
const goesWell = 4 * firstStep;

/** A window of a bucket: its limit, and when the starts in it were or will be. */
export interface WindowUse {
  readonly limit: number;
  readonly starts: readonly number[];
}

/**
 * Which share of its limits a bucket really has, learned from refusals that a lower limit explains. A burst that is cut off
 * says at once how much is left. Few refusals say little: they may be strays, for which no limit is to blame. When rest
 * follows rest they are put to the test: the share falls to what was let through, and when that does not help it was in vain.
 *
 * The way back is tried in steps, while somebody would use more. `scripts/quota.lua` has the same rules.
 */
export class Learned {
  #factor = 1;
  /** The factor when the present rest began; what its refusals take away is taken from this. */
  #before = 1;
  /** The factor when the present row of rests began. */
  #beforeRow = 1;
  /** The factor before the step that is being tried. */
  #proven = 1;
  #refusals = 0;
  /** When the first of the calls started that were refused in this rest. */
  #firstMs = 0;
  #inARow = 0;
  #step: number = firstStep;
  #everyMs: number = everyMs;
  #changedMs: number;

  constructor(nowMs: number) {
    this.#changedMs = nowMs;
  }

  /** The share, in [0.1, 1]. */
  get factor(): number {
    return this.#factor;
  }

  /** The first refusal after a rest, `sinceMs` after its end, of a call that started at `startedMs`. */
  restBegins(nowMs: number, sinceMs: number, startedMs: number): void {
    this.#refusals = 0;
    this.#firstMs = startedMs;
    if (this.#factor > this.#proven && nowMs - this.#changedMs < everyMs) {
      this.#change(this.#proven, nowMs);
      this.#everyMs = Math.min(longestEveryMs, this.#everyMs * 2);
    }
    this.#before = this.#factor;
    this.#inARow = sinceMs < factorRule.promptMs ? this.#inARow + 1 : 1;
    if (this.#inARow === 1) this.#beforeRow = this.#factor;
  }

  /** One more refusal of the present rest. One says little, the last of a burst all: each looks at the factor before. */
  refused(windows: readonly WindowUse[], startedMs: number, nowMs: number): void {
    this.#refusals++;
    this.#firstMs = Math.min(this.#firstMs, startedMs);
    const uses = windows.map(({ limit, starts }) => ({
      limit,
      taken: starts.filter((atMs) => atMs <= nowMs).length,
      since: starts.filter((atMs) => atMs >= this.#firstMs && atMs <= nowMs).length,
    }));
    const starts = Math.min(...uses.map(({ taken }) => taken));
    const since = Math.min(...uses.map((use) => use.since));
    const many =
      this.#refusals >= factorRule.manyRefusals &&
      (this.#refusals >= factorRule.manyShare * starts || this.#refusals >= factorRule.manySince * since);
    if (this.#inARow >= factorRule.vainInARow && this.#refusals * 2 <= starts) {
      if (this.#factor < this.#beforeRow) this.#change(this.#beforeRow, nowMs);
      return;
    }
    if (!many && this.#inARow !== factorRule.believedInARow) return;
    const before = this.#before;
    // A bucket that is hardly used has other reasons.
    if (!uses.some(({ limit, taken }) => taken >= limit * before * factorRule.leastUsed)) return;
    // Of several windows the one that was used most, if it explains anything.
    const lessThanAllowed = uses.filter(({ limit, taken }) => taken - this.#refusals < limit * before - 0.5);
    // One let through all that it did before the step that was refused: the step was too much, and nothing else is.
    if (lessThanAllowed.length > 0 && lessThanAllowed.length < uses.length) return;
    const explained = Math.max(...lessThanAllowed.map(({ limit, taken }) => (taken - this.#refusals) / limit));
    const lower = explained >= 0 ? explained : many ? before * unexplained : before;
    const factor = Math.max(floor, before * leastKept, lower);
    if (factor >= this.#factor) return;
    this.#change(factor, nowMs);
    this.#everyMs = everyMs;
  }

  /**
   * Somebody would use more than there is: a little more is tried, then ever more.
   * @param restEndedMs when the last rest ended: it has tried nothing, and right after it the windows are full
   * @param costly a long window is used up, where a refusal costs what is left of it: nothing is tried before two steps
   * have gone well, and this time does not count
   */
  wanted(nowMs: number, restEndedMs: number, costly: boolean): void {
    if (this.#factor >= 1) return;
    if (costly && this.#step < goesWell) {
      this.#changedMs = nowMs;
      return;
    }
    const triedMs = nowMs - Math.max(this.#changedMs, restEndedMs);
    const proven = triedMs >= everyMs && this.#factor > this.#proven;
    if (proven) [this.#proven, this.#everyMs] = [this.#factor, everyMs];
    if (triedMs < this.#everyMs) return;
    this.#factor = Math.min(1, this.#factor + this.#step);
    this.#step = Math.min(longestStep, this.#step * 2);
    this.#changedMs = nowMs;
  }

  #change(factor: number, nowMs: number): void {
    this.#factor = factor;
    this.#proven = factor;
    this.#step = firstStep;
    this.#changedMs = nowMs;
  }
}
