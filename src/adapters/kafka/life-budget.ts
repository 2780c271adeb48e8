import type { Random } from '../../ports/random.ts';

/** When the next life may start, and when it is enough. Times in milliseconds. */
export interface LifeBudgetOptions {
  /** Ceiling of the first wait; doubles with each failure in a row. */
  readonly baseMs: number;
  readonly capMs: number;
  /** Wait after a refusal that only an administrator can lift. */
  readonly deniedMs: number;
  /** A life of this length counts as a success. */
  readonly soundMs: number;
  /** So many failures inside `windowMs` for which the network is not to blame end the source. */
  readonly maxFailures: number;
  readonly windowMs: number;
}

/** Full jitter between a second and half a minute; ten failures in ten minutes are enough. */
export const lifeBudgetDefaults: LifeBudgetOptions = {
  baseMs: 1_000,
  capMs: 30_000,
  deniedMs: 30_000,
  soundMs: 60_000,
  maxFailures: 10,
  windowMs: 600_000,
};

/** Decides what follows the end of a life. Full jitter (Brooker, AWS 2015). Sleeps nowhere, reads no clock. */
export class LifeBudget {
  readonly #options: LifeBudgetOptions;
  readonly #random: Random;
  #inARow = 0;
  #failures: number[] = [];

  constructor(options: LifeBudgetOptions, random: Random) {
    this.#options = options;
    this.#random = random;
  }

  /**
   * @param kind `network`: nobody's fault, for ever; `denied`: an administrator must act; `broken`: counted
   * @param livedMs how long the life lasted
   * @returns milliseconds to wait, or `undefined` when it is enough
   */
  after(kind: 'network' | 'denied' | 'broken', livedMs: number, nowMs: number): number | undefined {
    const { baseMs, capMs, deniedMs, soundMs, maxFailures, windowMs } = this.#options;
    if (livedMs >= soundMs) this.#inARow = 0;
    if (kind === 'broken') {
      this.#failures = [...this.#failures.filter((atMs) => nowMs - atMs < windowMs), nowMs];
      if (this.#failures.length >= maxFailures) return undefined;
    }
    const ceiling = Math.min(capMs, baseMs * 2 ** Math.min(this.#inARow++, 30));
    // A tenth at least: two lives in the same breath would find the same trouble.
    const ms = Math.max(ceiling / 10, this.#random.next() * ceiling);
    return kind === 'denied' ? deniedMs + ms : ms;
  }
}
