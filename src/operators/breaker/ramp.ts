import type { Random } from '../../ports/random.ts';

import type { BreakerOptions } from './options.ts';
import { RecoveryCheck } from './recovery-check.ts';

/** The way back from half-open to closed: a share of the calls that grows from `rampFrom` to all within `rampMs`. */
export class Ramp {
  readonly #options: Pick<BreakerOptions, 'rampFrom' | 'rampMs'>;
  readonly #random: Random;
  readonly #check: RecoveryCheck;
  #startMs = 0;

  constructor(options: BreakerOptions, random: Random) {
    this.#options = options;
    this.#random = random;
    this.#check = new RecoveryCheck(options);
  }

  /** Starts over. */
  begin(nowMs: number): void {
    this.#startMs = nowMs;
    this.#check.clear();
  }

  /** Whether a call may go: by chance while it lasts; at its end whether the conditions for closing held. */
  ask(nowMs: number): 'go' | 'wait' | 'held' | 'failed' {
    const { rampFrom, rampMs } = this.#options;
    const sinceMs = nowMs - this.#startMs;
    if (sinceMs >= rampMs) return this.#check.holds() ? 'held' : 'failed';
    const share = rampFrom + (1 - rampFrom) * Math.max(0, sinceMs / rampMs);
    return this.#random.next() < share ? 'go' : 'wait';
  }

  /** Adds one finished call. */
  record(failed: boolean, durationMs: number): void {
    this.#check.record(failed, durationMs);
  }
}
