import type { BreakerOptions } from './options.ts';

const kept = 64;

/** The conditions under which a recovering upstream counts as recovered, over the calls of one ramp. */
export class RecoveryCheck {
  readonly #p95Ms: number | undefined;
  readonly #successRatio: number | undefined;
  readonly #durations = new Float64Array(kept);
  #calls = 0;
  #failures = 0;

  constructor({ closeP95Ms, closeSuccessRatio }: Pick<BreakerOptions, 'closeP95Ms' | 'closeSuccessRatio'>) {
    this.#p95Ms = closeP95Ms;
    this.#successRatio = closeSuccessRatio;
  }

  /** Adds one finished call; the last 64 durations are kept. */
  record(failed: boolean, durationMs: number): void {
    this.#durations[this.#calls % kept] = durationMs;
    this.#calls += 1;
    if (failed) this.#failures += 1;
  }

  /** Whether every condition holds. Without a call there is nothing to object to. Sorts once, so ask only to decide. */
  holds(): boolean {
    if (this.#calls === 0) return true;
    if (this.#successRatio !== undefined && this.#calls - this.#failures <= this.#successRatio * this.#calls)
      return false;
    if (this.#p95Ms === undefined) return true;
    const sorted = this.#durations.slice(0, Math.min(this.#calls, kept)).sort();
    return (sorted[Math.ceil(sorted.length * 0.95) - 1] ?? 0) < this.#p95Ms;
  }

  /** Forgets everything. */
  clear(): void {
    this.#calls = 0;
    this.#failures = 0;
  }
}
