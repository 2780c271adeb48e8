import type { AdaptiveOptions } from './options.ts';

/**
 * The failure ratio at which a breaker opens, learning from openings that proved to be blips.
 *
 * Rises by `factor` up to `max` after a blip; falls back towards `base` with half-life `decayMs`, counted only in time
 * the caller calls healthy. `factor: 1` pins it.
 */
export class AdaptiveThreshold {
  readonly #base: number;
  readonly #options: AdaptiveOptions;
  #theta: number;

  /** @param base the configured failure ratio, in (0, 1] */
  constructor(base: number, options: AdaptiveOptions) {
    this.#base = base;
    this.#options = options;
    this.#theta = base;
  }

  /** The ratio in force, in [base, max(base, max)]. */
  get theta(): number {
    return this.#theta;
  }

  /** An opening turned out to be a blip: be less nervous. */
  rise(): void {
    this.#theta = Math.max(this.#base, Math.min(this.#options.max, this.#theta * this.#options.factor));
  }

  /** `healthyMs` of healthy time went by: forget some of it. */
  decay(healthyMs: number): void {
    if (this.#theta === this.#base || healthyMs <= 0) return;
    const rest = (this.#theta - this.#base) * 2 ** (-healthyMs / this.#options.decayMs);
    // Below a ten-thousandth the difference decides nothing and would only keep the arithmetic busy.
    this.#theta = rest < 1e-4 ? this.#base : this.#base + rest;
  }
}
