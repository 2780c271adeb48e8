import type { Clock } from '../../ports/clock.ts';

/** When Redis counts as away. */
export interface GuardOptions {
  /** Errors in a row after which nobody asks for a while. Default 3. */
  readonly errorsInARow: number;
  /** For how long nobody asks. Default 2000. */
  readonly degradedMs: number;
}

/** Defaults of {@link GuardOptions}. */
const guardDefaults: GuardOptions = { errorsInARow: 3, degradedMs: 2000 };

/**
 * Keeps a slow or absent Redis from costing every call its timeout: after some errors in a row all fail at once for a
 * while, then a single probe decides. Plain decision: reads no clock but the one given, arms no timer.
 */
export class RedisGuard {
  readonly #clock: Clock;
  readonly #options: GuardOptions;
  #errors = 0;
  #degradedUntilMs = -Infinity;
  #probeOut = false;

  constructor(clock: Clock, options: GuardOptions = guardDefaults) {
    this.#clock = clock;
    this.#options = options;
  }

  /** Whether too many errors came in a row and no answer since. */
  get degraded(): boolean {
    return this.#errors >= this.#options.errorsInARow;
  }

  /** 0: ask now, and report how it ended. Else how many milliseconds to wait before coming again. */
  admit(): number {
    if (!this.degraded) return 0;
    const leftMs = this.#degradedUntilMs - this.#clock.now();
    if (leftMs > 0) return leftMs;
    if (this.#probeOut) return this.#options.degradedMs;
    this.#probeOut = true;
    return 0;
  }

  /** Redis answered, or a new connection proved that it does. */
  succeeded(): void {
    this.#errors = 0;
    this.#probeOut = false;
  }

  /** No answer came, or one that says it cannot work at present. */
  failed(): void {
    this.#errors++;
    this.#probeOut = false;
    if (this.degraded) this.#degradedUntilMs = this.#clock.now() + this.#options.degradedMs;
  }
}
