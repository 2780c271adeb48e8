import { AdaptiveThreshold } from './adaptive-threshold.ts';
import { type CallWindow, callWindow } from './call-window.ts';
import type { BreakerOptions } from './options.ts';
import type { BreakerSnapshot } from './permit.ts';

// 0.55 * 20 is 11.000000000000002: eleven failures of twenty must not miss their own bound.
const rounding = 1 - 1e-12;
// So many failures of one's own make the word of another process believable.
const hintedFailures = 3;
const warnedFailures = 5;
const warnedMs = 10_000;

/** Counts what ended and says when it is too much: failures in a row, share of failures, share of slow calls. */
export class TripRule {
  readonly #options: BreakerOptions;
  readonly #threshold: AdaptiveThreshold;
  readonly window: CallWindow;
  #inARow = 0;
  #firstMs = NaN;
  #lastMs = 0;
  #warnedUntilMs = -Infinity;

  constructor(options: BreakerOptions) {
    this.#options = options;
    this.#threshold = new AdaptiveThreshold(options.failureRatio, options.adaptive);
    this.window = callWindow(options);
  }

  /** The failure ratio at which it is too much, at present. */
  get theta(): number {
    return this.#threshold.theta;
  }

  /** When the last call of healthy times ended. */
  get lastMs(): number {
    return this.#lastMs;
  }

  /** Adds one finished call. @param learns whether this is ordinary traffic, in which the threshold forgets */
  record(nowMs: number, failed: boolean, durationMs: number, learns: boolean): void {
    const { minCalls, failureRatio, slowMs } = this.#options;
    this.window.record(nowMs, failed, durationMs >= slowMs);
    if (Number.isNaN(this.#firstMs)) this.#firstMs = nowMs;
    this.#inARow = failed ? this.#inARow + 1 : 0;
    if (!learns) return;
    const calls = this.window.calls(nowMs);
    const wellBelow = calls >= minCalls && this.window.failures(nowMs) <= (calls * failureRatio) / 2;
    if (wellBelow) this.#threshold.decay(nowMs - this.#lastMs);
    this.#lastMs = nowMs;
  }

  /** Why it is too much, in words, or `undefined` while it is not. @param inFlight calls under way */
  why(nowMs: number, inFlight: number): string | undefined {
    const { consecutiveFailures, failureRatio, minInFlight } = this.#options;
    if (minInFlight > 0 && inFlight <= minInFlight) return undefined;
    const usual = Math.round((consecutiveFailures * this.theta) / failureRatio);
    if (this.#inARow >= (nowMs < this.#warnedUntilMs ? Math.min(usual, warnedFailures) : usual)) {
      return `${this.#inARow} failures in a row`;
    }
    return this.whyRatio(nowMs);
  }

  /** Like {@link why}, by the shares alone. */
  whyRatio(nowMs: number): string | undefined {
    const { minCalls, slowRatio } = this.#options;
    const calls = this.window.calls(nowMs);
    if (calls < minCalls) return undefined;
    const failures = this.window.failures(nowMs);
    if (failures >= this.theta * calls * rounding) return `${failures} of ${calls} calls failed`;
    const slow = this.window.slow(nowMs);
    return slow >= slowRatio * calls * rounding ? `${slow} of ${calls} calls were slow` : undefined;
  }

  /** Calls per second since the last {@link clear}, as far back as the window reaches. */
  perSecond(nowMs: number): number {
    const spanMs = Math.min(this.#options.windowMs, Math.max(1_000, nowMs - this.#firstMs));
    return (this.window.calls(nowMs) * 1_000) / spanMs;
  }

  /** Somebody else found the upstream sick. @returns whether what is known here bears that out; else fewer failures in a row do for a while */
  hinted(nowMs: number): boolean {
    this.#warnedUntilMs = nowMs + warnedMs;
    return this.window.failures(nowMs) >= hintedFailures;
  }

  /** What it has counted. */
  shown(nowMs: number): Pick<BreakerSnapshot, 'theta' | 'calls' | 'failures' | 'slow' | 'windowMs'> {
    const { theta, window } = this;
    const counted = { calls: window.calls(nowMs), failures: window.failures(nowMs), slow: window.slow(nowMs) };
    return { theta, ...counted, windowMs: window.lengthMs(nowMs) };
  }

  /** The last opening was a blip: be less nervous. */
  wasBlip(): void {
    this.#threshold.rise();
  }

  /** Healthy time begins. */
  resume(nowMs: number): void {
    this.#lastMs = nowMs;
  }

  /** Forgets the calls, not what it has learned. */
  clear(): void {
    this.#inARow = 0;
    this.#firstMs = NaN;
    this.window.clear();
  }
}
