import type { BreakerOptions } from './options.ts';
import { RecoveryCheck } from './recovery-check.ts';

/** What of the options a {@link ProbeRound} needs. */
export type ProbeRoundOptions = Pick<
  BreakerOptions,
  'probes' | 'probesToClose' | 'probeLeaseMs' | 'halfOpenShare' | 'closeP95Ms' | 'closeSuccessRatio'
>;

// Whatever a twentieth of little traffic is: one call a second hurts nobody, and without it nothing would be learned.
const longestGapMs = 1_000;

/**
 * The calls of one half-open generation: how many are out, what came of them, and until when they are waited for.
 *
 * Without a share `probes` calls go at once and `probesToClose` good ones decide. With a share they go one by one, so far
 * apart that they are no more than that share of the traffic before (but one a second), all of them are judged, and the
 * conditions for closing must hold.
 */
export class ProbeRound {
  readonly #options: ProbeRoundOptions;
  readonly #check: RecoveryCheck;
  #granted = 0;
  #ok = 0;
  #bad = 0;
  #leaseUntilMs = 0;
  #gapMs = 0;
  #nextMs = 0;

  constructor(options: ProbeRoundOptions) {
    this.#options = options;
    this.#check = new RecoveryCheck(options);
  }

  /** Until when no call may go, or `undefined` for "now". */
  refusesUntil(nowMs: number): number | undefined {
    if (this.#granted >= this.#options.probes) return this.#leaseUntilMs;
    return nowMs < this.#nextMs ? this.#nextMs : undefined;
  }

  /** Whether all places are out and the missing ones have not reported for a whole lease: nobody waits for them any longer. */
  leaseOver(nowMs: number): boolean {
    return this.#granted > this.#ok + this.#bad && nowMs >= this.#leaseUntilMs;
  }

  /** Sends one more; the lease runs from the latest. */
  grant(nowMs: number): void {
    this.#granted += 1;
    this.#leaseUntilMs = nowMs + this.#options.probeLeaseMs;
    this.#nextMs = nowMs + this.#gapMs;
  }

  /** A probe ended without saying anything. */
  giveBack(): void {
    this.#granted -= 1;
  }

  /** A probe reports; `failed` and `passed` decide the round. */
  report(failed: boolean, durationMs: number): 'undecided' | 'failed' | 'passed' {
    const { probes, probesToClose, halfOpenShare, closeSuccessRatio } = this.#options;
    if (failed) this.#bad += 1;
    else this.#ok += 1;
    if (halfOpenShare === undefined) {
      if (this.#bad > probes - probesToClose) return 'failed';
      return this.#ok >= probesToClose ? 'passed' : 'undecided';
    }
    this.#check.record(failed, durationMs);
    // What can no longer become good need not be tried to the end.
    const lost = closeSuccessRatio === undefined ? this.#bad > probes - probesToClose : this.#lost(closeSuccessRatio);
    if (lost) return 'failed';
    if (this.#ok + this.#bad < probes) return 'undecided';
    return this.#check.holds() ? 'passed' : 'failed';
  }

  /** Starts over. @param perSecond calls per second before the breaker opened */
  begin(perSecond: number): void {
    const { halfOpenShare } = this.#options;
    this.#granted = 0;
    this.#ok = 0;
    this.#bad = 0;
    this.#leaseUntilMs = 0;
    this.#nextMs = 0;
    this.#gapMs = halfOpenShare === undefined ? 0 : Math.min(longestGapMs, 1_000 / (halfOpenShare * perSecond));
    this.#check.clear();
  }

  #lost(ratio: number): boolean {
    const { probes } = this.#options;
    return this.#bad > 0 && probes - this.#bad <= ratio * probes;
  }
}
