import type { RateWindow } from '../../ports/profile.ts';
import type { QuotaFleet } from '../../ports/quota-log.ts';

import { ExactLog } from './exact-log.ts';
import { aheadMs } from './options.ts';

/** When the shared log went away, and when it came back: until the longest window has passed, both rules hold. */
export interface Outage {
  readonly sinceMs: number;
  readonly fleet: QuotaFleet;
  /** `undefined`: it is still away. */
  readonly backMs: number | undefined;
  /** From then on only the shared rule holds. */
  readonly overMs: number;
}

/** Of its share of a limit each replica uses so much while nobody counts for all. */
const splitShare = 0.95;
/** Windows up to this length are sat out when the log goes away. */
const shortWindowMs = 1_000;
/** How much later than this process others may notice that the log is back. */
const othersBackMs = 5_000;

/** What one process started itself in one bucket: by this it keeps its part of the limits while the shared log is away. */
export class ShadowLog {
  /** Which outage this process's starts have been written down for. */
  recorded: Outage | undefined;
  readonly #stretchMs: number;
  #windows: readonly RateWindow[];
  #own: ExactLog;
  #taken: readonly number[] = [];
  #seenMs = -Infinity;

  /** @param windows stretched ones */
  constructor(windows: readonly RateWindow[], stretchMs: number) {
    this.#windows = windows;
    this.#stretchMs = stretchMs;
    this.#own = new ExactLog(windows);
  }

  /** A limit that was reloaded keeps the starts that were made. */
  reshape(windows: readonly RateWindow[]): void {
    this.#windows = windows;
    this.#own = this.#own.reshaped(windows);
  }

  /** The shared log said how many starts its windows hold. */
  seen(taken: readonly number[], nowMs: number): void {
    this.#taken = taken;
    this.#seenMs = nowMs;
  }

  /** A start was made. */
  note(nowMs: number): void {
    this.#own.note(nowMs);
  }

  /** A start of that time was not made after all. */
  forget(atMs: number): void {
    this.#own.giveBack(atMs);
  }

  /**
   * When one more may start while the limits are split among the replicas. Right after the log went away nobody knows
   * what the others were granted last, nor what they hold for later: a short window is sat out, of a longer one only what
   * was surely free is shared.
   * @param allowed its windows under the learned share
   */
  freeAtMs(nowMs: number, { sinceMs, fleet }: Outage, allowed: readonly RateWindow[], ahead: number): number {
    let atMs = nowMs;
    for (const [index, { limit, windowMs }] of allowed.entries()) {
      const share = (limit / fleet.replicas) * splitShare;
      // Less than one start per window: one in a window that is as much longer.
      const own = share >= 1 ? { limit: Math.floor(share), windowMs } : { limit: 1, windowMs: windowMs / share };
      atMs = Math.max(atMs, this.#own.freeAtMs(nowMs, ahead, [own]));
      const overMs = sinceMs + aheadMs + windowMs;
      if (overMs <= atMs) continue;
      const isShort = windowMs - this.#stretchMs <= shortWindowMs;
      const surelyFree = isShort ? 0 : limit - (this.#taken[index] ?? limit) - this.#unseen(allowed, sinceMs);
      const left = Math.floor((surelyFree / fleet.replicas) * splitShare) - this.#own.since(sinceMs).length;
      if (ahead >= left) atMs = overMs;
    }
    return atMs;
  }

  /** For how long after the log came back starts may count that it was not told of in time. */
  get unsureForMs(): number {
    return Math.max(0, ...this.#windows.map(({ windowMs }) => windowMs)) + othersBackMs;
  }

  /** How long ago the starts were that the log does not hold. @param all also those before the outage */
  unrecordedAgoMs(nowMs: number, { sinceMs }: Outage, all: boolean): number[] {
    return this.#own.since(all ? -Number.MAX_VALUE : sinceMs).map((atMs) => nowMs - atMs);
  }

  /** Share of its fullest window that is used, by what the log last said and by its own starts. */
  used(nowMs: number): number {
    const shares = this.#windows.map(({ limit, windowMs }, index) => {
      const own = this.#own.since(nowMs - windowMs).length;
      const seen = nowMs - this.#seenMs < windowMs ? (this.#taken[index] ?? 0) : 0;
      return Math.max(own, seen) / limit;
    });
    return Math.max(0, ...shares);
  }

  idle(nowMs: number): boolean {
    return this.#own.idle(nowMs);
  }

  /** So many may have been granted to others between the last answer of the log and its going away. */
  #unseen(allowed: readonly RateWindow[], sinceMs: number): number {
    const [{ limit, windowMs } = { limit: Infinity, windowMs: 1 }] = [...allowed].sort(
      (a, b) => a.windowMs - b.windowMs,
    );
    return limit * Math.ceil(Math.max(1, sinceMs - this.#seenMs) / windowMs);
  }
}
