import type { Random } from '../../ports/random.ts';

import { AdaptiveThreshold } from './adaptive-threshold.ts';
import { type BreakerOptions, checkBreakerOptions } from './options.ts';
import type { BreakerSnapshot, BreakerState, ForcedState, Permit, Refusal } from './permit.ts';
import { ProbeRound } from './probe-round.ts';
import { RecoveryCheck } from './recovery-check.ts';
import { SlidingWindow } from './sliding-window.ts';

export type { BreakerSnapshot, BreakerState, ForcedState, Permit, Refusal } from './permit.ts';

// A call refused by chance during the ramp comes back soon: the share grows all the time.
const rampRetryMs = 100;
// 0.55 * 20 is 11.000000000000002: eleven failures of twenty must not miss their own bound.
const rounding = 1 - 1e-12;

/**
 * Circuit breaker with a sliding time window, generations, leased probes and a ramp.
 *
 * closed -> open -> half-open -> ramp -> closed. It holds no timer: time is compared when somebody asks. `acquire` is
 * synchronous; take the permit last, right before the call, and end it once. Results that arrive under another
 * generation change nothing, so a slow call from before an outage neither closes nor re-opens it.
 * All times are monotonic milliseconds.
 */
export class Breaker {
  readonly #options: BreakerOptions;
  readonly #random: Random;
  readonly #window: SlidingWindow;
  readonly #threshold: AdaptiveThreshold;
  readonly #recovery: RecoveryCheck;
  #state: BreakerState = 'closed';
  #forced: ForcedState | undefined;
  #generation = 1;
  #consecutive = 0;
  #lastRecordMs = 0;
  #inFlight = 0;
  #toldInFlight: number | undefined;
  /** Openings of this episode; 0 once it is closed again. */
  #opens = 0;
  #untilMs = 0;
  readonly #probes: ProbeRound;
  #rampStartMs = 0;
  #openings = 0;
  #refusals = 0;
  #lateResults = 0;
  #leaseExpiries = 0;

  /** Throws a RangeError that names the first option out of its range. */
  constructor(options: BreakerOptions, random: Random) {
    checkBreakerOptions(options);
    this.#options = options;
    this.#random = random;
    this.#window = new SlidingWindow(options);
    this.#threshold = new AdaptiveThreshold(options.failureRatio, options.adaptive);
    this.#recovery = new RecoveryCheck(options);
    this.#probes = new ProbeRound(options);
  }

  /**
   * Until when it would refuse, or `undefined` when a call may go. Changes nothing. Never refuses what `acquire` would
   * grant; in the ramp, where chance decides, it lets the call come and ask.
   */
  peek(nowMs: number): number | undefined {
    if (this.#forced !== undefined) return this.#forced === 'open' ? nowMs + this.#options.maxOpenMs : undefined;
    if (this.#state === 'open') return nowMs < this.#untilMs ? this.#untilMs : undefined;
    if (this.#state !== 'half-open' || this.#probes.leaseOver(nowMs)) return undefined;
    return this.#probes.full ? this.#probes.leaseUntilMs : undefined;
  }

  /**
   * Asks for one call now.
   * @param inFlight calls under way in the bucket, this one excluded; default: the permits not yet ended
   */
  acquire(nowMs: number, inFlight?: number): Permit | Refusal {
    this.#toldInFlight = inFlight;
    if (this.#forced !== undefined) {
      return this.#forced === 'open' ? this.#refuse(nowMs + this.#options.maxOpenMs) : this.#grant();
    }
    switch (this.#state) {
      case 'closed':
        return this.#grant();
      case 'open':
        if (nowMs < this.#untilMs) return this.#refuse(this.#untilMs);
        this.#enter('half-open');
        return this.#grantProbe(nowMs);
      case 'half-open':
        if (this.#probes.leaseOver(nowMs)) {
          this.#leaseExpiries += 1;
          this.#enter('half-open');
        }
        return this.#probes.full ? this.#refuse(this.#probes.leaseUntilMs) : this.#grantProbe(nowMs);
      case 'ramp':
        return this.#acquireInRamp(nowMs);
    }
  }

  /**
   * Ends a permit with what came of its call. A failure is what says that the upstream is sick: neither a rate limit nor
   * a cancellation (see `release`). @returns whether it counted; `false` for another generation or a second ending
   */
  record(permit: Permit, nowMs: number, failed: boolean, durationMs: number): boolean {
    if (!this.#end(permit)) return false;
    if (this.#forced !== undefined) {
      if (this.#forced === 'metrics-only') this.#window.record(nowMs, failed, durationMs >= this.#options.slowMs);
      return true;
    }
    if (this.#state === 'half-open') this.#recordProbe(nowMs, failed);
    else this.#recordCall(nowMs, failed, durationMs);
    return true;
  }

  /** Ends a permit without judging: rate-limited, cancelled or never sent. A probe gives its place back. */
  release(permit: Permit): void {
    if (this.#end(permit) && this.#state === 'half-open') this.#probes.giveBack();
  }

  /** Whether a failing attempt says something about its record rather than about the upstream: closed, below theta. */
  healthy(nowMs: number): boolean {
    return this.#forced !== 'open' && this.#state === 'closed' && !this.#overThreshold(nowMs);
  }

  /** Closed of its own accord, so that a fresh breaker would behave much the same. */
  get settled(): boolean {
    return this.#state === 'closed' && this.#forced === undefined;
  }

  /** What it shows of itself at `nowMs`. */
  snapshot(nowMs: number): BreakerSnapshot {
    return {
      state: this.#state,
      forced: this.#forced,
      generation: this.#generation,
      theta: this.#threshold.theta,
      calls: this.#window.calls(nowMs),
      failures: this.#window.failures(nowMs),
      slow: this.#window.slow(nowMs),
      openings: this.#openings,
      refusals: this.#refusals,
      lateResults: this.#lateResults,
      leaseExpiries: this.#leaseExpiries,
      untilMs: this.peek(nowMs),
    };
  }

  /** Imposes a state, or lifts it with `undefined`. Either way a new, closed generation with an empty window begins. */
  force(state: ForcedState | undefined): void {
    this.#forced = state;
    this.#opens = 0;
    this.#enter('closed');
  }

  #grant(): Permit {
    this.#inFlight += 1;
    return { kind: 'permit', generation: this.#generation, ended: false };
  }

  #refuse(untilMs: number): Refusal {
    this.#refusals += 1;
    return { kind: 'refused', untilMs };
  }

  #grantProbe(nowMs: number): Permit {
    this.#probes.grant(nowMs);
    return this.#grant();
  }

  #acquireInRamp(nowMs: number): Permit | Refusal {
    const { rampFrom, rampMs } = this.#options;
    const sinceMs = nowMs - this.#rampStartMs;
    if (sinceMs < rampMs) {
      const share = rampFrom + (1 - rampFrom) * Math.max(0, sinceMs / rampMs);
      return this.#random.next() < share ? this.#grant() : this.#refuse(nowMs + rampRetryMs);
    }
    if (!this.#recovery.holds()) {
      this.#trip(nowMs);
      return this.#refuse(this.#untilMs);
    }
    if (this.#opens === 1) this.#threshold.rise();
    this.#opens = 0;
    this.#lastRecordMs = nowMs;
    this.#state = 'closed';
    return this.#grant();
  }

  #recordProbe(nowMs: number, failed: boolean): void {
    const verdict = this.#probes.report(failed);
    if (verdict === 'failed') this.#trip(nowMs);
    if (verdict !== 'passed') return;
    this.#enter('ramp');
    this.#rampStartMs = nowMs;
  }

  #recordCall(nowMs: number, failed: boolean, durationMs: number): void {
    const { minCalls, failureRatio, slowMs } = this.#options;
    this.#window.record(nowMs, failed, durationMs >= slowMs);
    this.#consecutive = failed ? this.#consecutive + 1 : 0;
    if (this.#state === 'ramp') {
      this.#recovery.record(failed, durationMs);
    } else {
      const calls = this.#window.calls(nowMs);
      const wellBelow = calls >= minCalls && this.#window.failures(nowMs) <= (calls * failureRatio) / 2;
      if (wellBelow) this.#threshold.decay(nowMs - this.#lastRecordMs);
      this.#lastRecordMs = nowMs;
    }
    if (this.#mayTrip(nowMs)) this.#trip(nowMs);
  }

  #mayTrip(nowMs: number): boolean {
    const { consecutiveFailures, failureRatio, minInFlight } = this.#options;
    if (minInFlight > 0 && (this.#toldInFlight ?? this.#inFlight + 1) <= minInFlight) return false;
    const inARow = Math.round((consecutiveFailures * this.#threshold.theta) / failureRatio);
    return this.#consecutive >= inARow || this.#overThreshold(nowMs);
  }

  #overThreshold(nowMs: number): boolean {
    const { minCalls, slowRatio } = this.#options;
    const calls = this.#window.calls(nowMs);
    if (calls < minCalls) return false;
    const { theta } = this.#threshold;
    return (
      this.#window.failures(nowMs) >= theta * calls * rounding ||
      this.#window.slow(nowMs) >= slowRatio * calls * rounding
    );
  }

  #trip(nowMs: number): void {
    const { coolDownMs, maxOpenMs, openJitter } = this.#options;
    this.#opens += 1;
    this.#openings += 1;
    // The exponent is clamped before it is used: 2 ** 1024 is Infinity.
    const openMs = Math.min(maxOpenMs, coolDownMs * 2 ** Math.min(this.#opens - 1, 30));
    this.#untilMs = nowMs + openMs * (1 + openJitter * this.#random.next());
    this.#enter('open');
  }

  /** A new generation: nothing that an older one counted may weigh in it. */
  #enter(state: BreakerState): void {
    this.#state = state;
    this.#generation += 1;
    this.#consecutive = 0;
    this.#window.clear();
    this.#recovery.clear();
    this.#probes.clear();
  }

  #end(permit: Permit): boolean {
    if (permit.ended) return false;
    permit.ended = true;
    this.#inFlight -= 1;
    if (permit.generation === this.#generation) return true;
    this.#lateResults += 1;
    return false;
  }
}
