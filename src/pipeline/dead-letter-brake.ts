/** How many dead letters may follow each other without successes. */
export interface BrakeOptions {
  /** Credit at the start and at most. */
  readonly burst: number;
  readonly perSuccess: number;
  /** Earned by time alone, so that a stream of wrong calls still moves. */
  readonly perSecond: number;
}

/** A record that the brake holds is tried again after this. */
export const brakeWaitMs = 5_000;

/** Defaults of the brake. */
export const brakeDefaults: BrakeOptions = { burst: 50, perSuccess: 0.1, perSecond: 1 };

/**
 * Keeps an upstream that suddenly refuses everything from turning a topic into dead letters: a dead letter costs one
 * credit, a success earns a tenth. Without credit the record waits and is tried again.
 */
export class DeadLetterBrake {
  readonly #options: BrakeOptions;
  #credit: number;
  #atMs = 0;

  constructor(options: BrakeOptions = brakeDefaults) {
    this.#options = options;
    this.#credit = options.burst;
  }

  /** A call succeeded. */
  onSuccess(): void {
    this.#credit = Math.min(this.#options.burst, this.#credit + this.#options.perSuccess);
  }

  /** Whether one more dead letter may be written now; takes the credit. */
  tryRelease(nowMs: number): boolean {
    const { burst, perSecond } = this.#options;
    this.#credit = Math.min(burst, this.#credit + (Math.max(0, nowMs - this.#atMs) / 1_000) * perSecond);
    this.#atMs = Math.max(this.#atMs, nowMs);
    if (this.#credit < 1) return false;
    this.#credit -= 1;
    return true;
  }
}
