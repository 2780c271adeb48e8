import type { LimitKey, RateWindow } from '../../ports/profile.ts';

import { CoolDowns } from './cool-down.ts';
import { ExactLog } from './exact-log.ts';

/** How a {@link Limiter} counts and what it remembers. */
export interface LimiterOptions {
  /**
   * Added to every window: the server counts arrivals, we count grants. Default 60: 40 ms for the spread of the path,
   * 20 ms for the longest time between grant and send.
   */
  readonly stretchMs?: number;
  /** Keys kept without need; from there on idle ones make room. Default 10,000. */
  readonly maxKeys?: number;
}

/** What a limiter shows of itself. */
export interface LimiterSnapshot {
  readonly keys: number;
  readonly cooling: number;
  readonly promised: number;
  readonly grants: number;
  /** How often `tryTake` had to say no. */
  readonly refusals: number;
}

interface Entry {
  windows: readonly RateWindow[];
  log: ExactLog;
  promised: number;
}

const lookedAt = 8;

/**
 * Exact limits per process over the buckets a call draws from, with cool-downs. A call is granted by all of its buckets
 * or by none. Refused starts cost nothing. Memory is bounded by `maxKeys` plus the keys used within their longest
 * window: those are never forgotten, for that would overrun their quota. Times are monotonic milliseconds.
 */
export class Limiter {
  readonly #stretchMs: number;
  readonly #maxKeys: number;
  readonly #entries = new Map<string, Entry>();
  readonly #coolDowns: CoolDowns;
  #seenMs = -Infinity;
  #promised = 0;
  #grants = 0;
  #refusals = 0;

  constructor({ stretchMs = 60, maxKeys = 10_000 }: LimiterOptions = {}) {
    this.#stretchMs = stretchMs;
    this.#maxKeys = maxKeys;
    this.#coolDowns = new CoolDowns(maxKeys);
  }

  /**
   * When a call may start at the earliest, given what is promised but not yet taken, and the key that decides it.
   * `atMs` is `nowMs` when it may start at once; for calls without keys `key` is `''`.
   */
  earliestMs(keys: readonly LimitKey[], nowMs: number): { readonly atMs: number; readonly key: string } {
    this.#seenMs = nowMs;
    let earliest = { atMs: nowMs, key: keys[0]?.key ?? '' };
    for (const limit of keys) {
      const { log, promised } = this.#entry(limit);
      const atMs = Math.max(this.#coolDowns.untilMs(limit.key, nowMs), log.freeAtMs(nowMs, promised));
      if (atMs > earliest.atMs) earliest = { atMs, key: limit.key };
    }
    return earliest;
  }

  /** Counts one call as on its way to `tryTake`, so that no later one is offered its place. */
  promise(keys: readonly LimitKey[]): void {
    for (const limit of keys) this.#entry(limit).promised += 1;
    this.#promised += 1;
  }

  /**
   * Ends a promise, after `tryTake` or when the call goes elsewhere. Until then the call counts twice for
   * {@link earliestMs}, which errs on the late side.
   */
  unpromise(keys: readonly LimitKey[]): void {
    for (const { key } of keys) {
      const entry = this.#entries.get(key);
      if (entry !== undefined) entry.promised = Math.max(0, entry.promised - 1);
    }
    this.#promised = Math.max(0, this.#promised - 1);
  }

  /** Takes a grant of every key and returns 0, or takes none and returns the milliseconds to wait (> 0). */
  tryTake(keys: readonly LimitKey[], nowMs: number): number {
    this.#seenMs = nowMs;
    let atMs = nowMs;
    for (const limit of keys) {
      const freeMs = Math.max(this.#coolDowns.untilMs(limit.key, nowMs), this.#entry(limit).log.freeAtMs(nowMs));
      if (freeMs > atMs) atMs = freeMs;
    }
    if (atMs > nowMs) {
      this.#refusals += 1;
      return atMs - nowMs;
    }
    for (const limit of keys) this.#entry(limit).log.take(nowMs);
    this.#grants += 1;
    return 0;
  }

  /** Gives back the grants of a call that was not sent. @param takenAtMs the `nowMs` of its `tryTake` */
  giveBack(keys: readonly LimitKey[], takenAtMs: number): void {
    for (const limit of keys) this.#entries.get(limit.key)?.log.giveBack(takenAtMs);
    this.#grants -= 1;
  }

  /** Grants nothing for a key until then; only ever extended. */
  coolDown(key: string, untilMs: number): void {
    this.#coolDowns.hold(key, untilMs);
  }

  /** What it shows of itself at `nowMs`. */
  snapshot(nowMs: number): LimiterSnapshot {
    return {
      keys: this.#entries.size,
      cooling: this.#coolDowns.active(nowMs),
      promised: this.#promised,
      grants: this.#grants,
      refusals: this.#refusals,
    };
  }

  #entry({ key, windows }: LimitKey): Entry {
    const known = this.#entries.get(key);
    if (known === undefined) return this.#make(key, windows);
    if (known.windows !== windows) {
      // A tier that was reloaded or learned keeps the grants it has given.
      if (!sameWindows(known.windows, windows)) known.log = known.log.reshaped(this.#stretched(windows));
      known.windows = windows;
    }
    return known;
  }

  #make(key: string, windows: readonly RateWindow[]): Entry {
    if (this.#entries.size >= this.#maxKeys) this.#makeRoom();
    const made = { windows, log: new ExactLog(this.#stretched(windows)), promised: 0 };
    this.#entries.set(key, made);
    return made;
  }

  /** Looks at the few oldest keys: idle ones go, others move to the end of the row, so a look costs the same always. */
  #makeRoom(): void {
    let left = Math.min(lookedAt, this.#entries.size);
    for (const [key, entry] of this.#entries) {
      if (left-- === 0) return;
      this.#entries.delete(key);
      if (entry.promised > 0 || !entry.log.idle(this.#seenMs)) this.#entries.set(key, entry);
    }
  }

  #stretched(windows: readonly RateWindow[]): RateWindow[] {
    return windows.map(({ limit, windowMs }) => ({ limit, windowMs: windowMs + this.#stretchMs }));
  }
}

function sameWindows(a: readonly RateWindow[], b: readonly RateWindow[]): boolean {
  return a.length === b.length && a.every((window, i) => sameWindow(window, b[i]));
}

function sameWindow(a: RateWindow, b: RateWindow | undefined): boolean {
  return a.limit === b?.limit && a.windowMs === b.windowMs;
}
