import type { BreakerOptions } from './options.ts';

/** The probes of one half-open generation: how many are out, what came of them, and until when they are waited for. */
export class ProbeRound {
  readonly #options: Pick<BreakerOptions, 'probes' | 'probesToClose' | 'probeLeaseMs'>;
  #granted = 0;
  #ok = 0;
  #bad = 0;
  #leaseUntilMs = 0;

  constructor(options: Pick<BreakerOptions, 'probes' | 'probesToClose' | 'probeLeaseMs'>) {
    this.#options = options;
  }

  /** No place is free. */
  get full(): boolean {
    return this.#granted >= this.#options.probes;
  }

  /** When the places of probes that vanished become free. */
  get leaseUntilMs(): number {
    return this.#leaseUntilMs;
  }

  /** Whether a probe is out that has not reported for a whole lease: nobody waits for it any longer. */
  leaseOver(nowMs: number): boolean {
    return this.#granted > this.#ok + this.#bad && nowMs >= this.#leaseUntilMs;
  }

  /** Sends one more; the lease runs from the latest. */
  grant(nowMs: number): void {
    this.#granted += 1;
    this.#leaseUntilMs = nowMs + this.#options.probeLeaseMs;
  }

  /** A probe ended without saying anything. */
  giveBack(): void {
    this.#granted -= 1;
  }

  /** A probe reports; `failed` and `passed` decide the round. */
  report(failed: boolean): 'undecided' | 'failed' | 'passed' {
    const { probes, probesToClose } = this.#options;
    if (failed) this.#bad += 1;
    else this.#ok += 1;
    if (this.#bad > probes - probesToClose) return 'failed';
    return this.#ok >= probesToClose ? 'passed' : 'undecided';
  }

  /** Starts over. */
  clear(): void {
    this.#granted = 0;
    this.#ok = 0;
    this.#bad = 0;
    this.#leaseUntilMs = 0;
  }
}
