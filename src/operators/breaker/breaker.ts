import type { Random } from '../../ports/random.ts';

import { openMs } from './open-time.ts';
import { type BreakerOptions, checkBreakerOptions } from './options.ts';
import type { BreakerChange, BreakerSnapshot, BreakerState, ForcedState, Permit, Refusal } from './permit.ts';
import { ProbeRound } from './probe-round.ts';
import { ProbeSchedule } from './probe-schedule.ts';
import { Ramp } from './ramp.ts';
import { TripRule } from './trip-rule.ts';

export type { BreakerChange, BreakerSnapshot, BreakerState, ForcedState, Permit, Refusal } from './permit.ts';

// A call refused by chance during the ramp comes back soon: the share grows all the time.
const rampRetryMs = 100;

/**
 * Circuit breaker with a sliding time window, generations, leased probes and a ramp.
 *
 * closed -> open -> half-open -> ramp -> closed. It holds no timer: time is compared when somebody asks. `acquire` is
 * synchronous; take the permit last, right before the call, and end it once. Results that arrive under another
 * generation change nothing, so a slow call from before an outage neither closes nor re-opens it.
 * With a declared probe no call finds out whether the upstream is back: somebody else sends the probe when it is due, and
 * calls wait until enough of them have succeeded in a row. All times are monotonic milliseconds.
 */
export class Breaker {
  readonly #options: BreakerOptions;
  readonly #random: Random;
  readonly #rule: TripRule;
  readonly #round: ProbeRound;
  readonly #ramp: Ramp;
  readonly #schedule: ProbeSchedule | undefined;
  readonly #onChange: ((change: BreakerChange) => void) | undefined;
  /** `closed` as long as something is imposed. */
  #state: BreakerState = 'closed';
  #forced: ForcedState | undefined;
  #generation = 1;
  /** Calls per second before this episode. */
  #perSecond = 0;
  #inFlight = 0;
  #toldInFlight: number | undefined;
  /** Openings of this episode; 0 once it is closed again. */
  #opens = 0;
  #untilMs = 0;
  readonly #counts = { openings: 0, refusals: 0, lateResults: 0, leaseExpiries: 0 };

  /**
   * Throws a RangeError that names the first option out of its range.
   * @param onChange told of each step at once, from within; it must not ask the breaker for a permit
   */
  constructor(options: BreakerOptions, random: Random, onChange?: (change: BreakerChange) => void) {
    checkBreakerOptions(options);
    this.#options = options;
    this.#random = random;
    this.#onChange = onChange;
    this.#rule = new TripRule(options);
    this.#ramp = new Ramp(options, random);
    this.#round = new ProbeRound(options);
    this.#schedule = options.declaredProbe ? new ProbeSchedule(options) : undefined;
  }

  /**
   * Until when it would refuse, or `undefined` when a call may go. Changes nothing. Never refuses what `acquire` would
   * grant; in the ramp, where chance decides, it lets the call come and ask.
   */
  peek(nowMs: number): number | undefined {
    if (this.#forced === 'open') return nowMs + this.#options.maxOpenMs;
    if (this.#state === 'open') return this.#openUntil(nowMs);
    if (this.#state !== 'half-open' || this.#round.leaseOver(nowMs)) return undefined;
    return this.#round.refusesUntil(nowMs);
  }

  /**
   * Asks for one call now.
   * @param inFlight calls under way in the bucket, this one excluded; default: the permits not yet ended
   */
  acquire(nowMs: number, inFlight?: number): Permit | Refusal {
    this.#toldInFlight = inFlight;
    if (this.#forced === 'open') return this.#refuse(nowMs + this.#options.maxOpenMs);
    switch (this.#state) {
      case 'closed':
        return this.#grant();
      case 'open': {
        const untilMs = this.#openUntil(nowMs);
        if (untilMs !== undefined) return this.#refuse(untilMs);
        this.#leaveOpen(nowMs);
        return this.acquire(nowMs, inFlight);
      }
      case 'half-open': {
        if (this.#round.leaseOver(nowMs)) {
          this.#counts.leaseExpiries += 1;
          this.#enter('half-open', nowMs, 'probes did not report');
        }
        const untilMs = this.#round.refusesUntil(nowMs);
        if (untilMs !== undefined) return this.#refuse(untilMs);
        this.#round.grant(nowMs);
        return this.#grant();
      }
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
    if (this.#forced === 'metrics-only') this.#rule.record(nowMs, failed, durationMs, false);
    else if (this.#forced !== undefined) return true;
    else if (this.#state === 'half-open') this.#recordProbe(nowMs, failed, durationMs);
    else this.#recordCall(nowMs, failed, durationMs);
    return true;
  }

  /** Ends a permit without judging: rate-limited, cancelled or never sent. A probe gives its place back. */
  release(permit: Permit): void {
    if (this.#end(permit) && this.#state === 'half-open') this.#round.giveBack();
  }

  /** When the declared probe is due next, or `undefined` while none is wanted: not open, held by a person, or passed. */
  get probeDueMs(): number | undefined {
    if (this.#state !== 'open' || this.#schedule?.passed !== false) return undefined;
    return this.#schedule.dueMs;
  }

  /** The declared probe is sent. @returns what its report must name, or `undefined` when none is due */
  takeProbe(nowMs: number): number | undefined {
    if ((this.probeDueMs ?? Infinity) > nowMs) return undefined;
    this.#schedule?.sent(nowMs);
    return this.#generation;
  }

  /** What came of the declared probe; one of an earlier opening changes nothing. */
  reportProbe(generation: number, nowMs: number, good: boolean): void {
    if (generation === this.#generation && this.#state === 'open') this.#schedule?.report(good, nowMs);
    else this.#counts.lateResults += 1;
  }

  /** A declared probe that another process has sent counts like one of our own. */
  adoptProbe(nowMs: number, good: boolean): void {
    if (this.probeDueMs !== undefined) this.#schedule?.adopt(good, nowMs);
  }

  /** Whether {@link hinted} means anything to it. */
  get takesHints(): boolean {
    return this.#options.hints;
  }

  /**
   * The breaker of another process for the same upstream has opened, for `forMs`. With three failures of its own in the window this
   * one opens, too, for as long; else five failures in a row open it within the next ten seconds. Without `hints`, and
   * in any other state than closed, nothing happens.
   */
  hinted(nowMs: number, forMs: number): void {
    if (this.takesHints && this.settled && this.#rule.hinted(nowMs)) this.#trip(nowMs, 'it opened elsewhere', forMs);
  }

  /** Whether a failing attempt says something about its record rather than about the upstream: closed, below theta. */
  healthy(nowMs: number): boolean {
    return this.#forced !== 'open' && this.#state === 'closed' && this.#rule.whyRatio(nowMs) === undefined;
  }

  /** Closed of its own accord, so that a fresh breaker would behave much the same. */
  get settled(): boolean {
    return this.#state === 'closed' && this.#forced === undefined;
  }

  /** What was imposed on it. */
  get forced(): ForcedState | undefined {
    return this.#forced;
  }

  /** What it shows of itself at `nowMs`. */
  snapshot(nowMs: number): BreakerSnapshot {
    const own = { state: this.#state, forced: this.#forced, generation: this.#generation };
    return { ...own, ...this.#rule.shown(nowMs), ...this.#counts, untilMs: this.peek(nowMs) };
  }

  /** Imposes a state, or lifts it with `undefined`. Either way a new, closed generation with an empty window begins. */
  force(state: ForcedState | undefined, nowMs = this.#rule.lastMs, by = 'a person'): void {
    this.#forced = state;
    this.#opens = 0;
    this.#enter('closed', nowMs, state === undefined ? `let go by ${by}` : `forced ${state} by ${by}`);
  }

  #grant(): Permit {
    this.#inFlight += 1;
    return { kind: 'permit', generation: this.#generation, ended: false };
  }

  #refuse(untilMs: number): Refusal {
    this.#counts.refusals += 1;
    return { kind: 'refused', untilMs };
  }

  #openUntil(nowMs: number): number | undefined {
    const unproven = this.#schedule?.passed === false;
    // Never now: with the probe out or overdue the next look is the probe's report.
    const untilMs = unproven ? Math.max(this.#untilMs, this.#schedule.dueMs, nowMs + rampRetryMs) : this.#untilMs;
    return nowMs < untilMs ? untilMs : undefined;
  }

  /** The time in open is over. Where the declared probe has shown that the upstream is back, no call need try it. */
  #leaveOpen(nowMs: number): void {
    if (this.#schedule !== undefined && this.#options.halfOpenShare === undefined)
      this.#enter('ramp', nowMs, 'the declared probe succeeded');
    else this.#enter('half-open', nowMs, 'the time in open is over');
  }

  #acquireInRamp(nowMs: number): Permit | Refusal {
    switch (this.#ramp.ask(nowMs)) {
      case 'go':
        return this.#grant();
      case 'wait':
        return this.#refuse(nowMs + rampRetryMs);
      case 'failed':
        this.#trip(nowMs, 'the conditions for closing did not hold');
        return this.#refuse(this.#untilMs);
      case 'held':
        if (this.#opens === 1) this.#rule.wasBlip();
        this.#opens = 0;
        this.#rule.resume(nowMs);
        this.#state = 'closed';
        this.#tell('ramp', 'the ramp held', nowMs);
        return this.#grant();
    }
  }

  #recordProbe(nowMs: number, failed: boolean, durationMs: number): void {
    const verdict = this.#round.report(failed, durationMs);
    if (verdict === 'failed') this.#trip(nowMs, 'probes failed');
    else if (verdict === 'passed') this.#enter('ramp', nowMs, 'probes succeeded');
  }

  #recordCall(nowMs: number, failed: boolean, durationMs: number): void {
    const inRamp = this.#state === 'ramp';
    this.#rule.record(nowMs, failed, durationMs, !inRamp);
    if (inRamp) this.#ramp.record(failed, durationMs);
    const why = this.#rule.why(nowMs, this.#toldInFlight ?? this.#inFlight + 1);
    if (why !== undefined) this.#trip(nowMs, why);
  }

  #trip(nowMs: number, reason: string, forMs?: number): void {
    // What came before the first opening is the traffic that a share of it is measured by.
    if (this.#opens === 0) this.#perSecond = this.#rule.perSecond(nowMs);
    this.#opens += 1;
    this.#counts.openings += 1;
    this.#untilMs = nowMs + (forMs ?? openMs(this.#options, this.#opens, this.#random));
    this.#schedule?.begin(nowMs);
    this.#enter('open', nowMs, reason);
  }

  /** A new generation: nothing that an older one counted may weigh in it. */
  #enter(state: BreakerState, nowMs: number, reason: string): void {
    const from = this.#state;
    this.#state = state;
    this.#generation += 1;
    this.#rule.clear();
    this.#ramp.begin(nowMs);
    this.#round.begin(this.#perSecond);
    this.#tell(from, reason, nowMs);
  }

  #tell(from: BreakerState, reason: string, atMs: number): void {
    const untilMs = this.#state === 'open' ? this.#untilMs : undefined;
    this.#onChange?.({ from, to: this.#state, forced: this.#forced, reason, atMs, untilMs });
  }

  #end(permit: Permit): boolean {
    if (permit.ended) return false;
    permit.ended = true;
    this.#inFlight -= 1;
    if (permit.generation === this.#generation) return true;
    this.#counts.lateResults += 1;
    return false;
  }
}
