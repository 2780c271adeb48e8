import type { LimitKey, RateWindow } from '../../ports/profile.ts';
import type { BucketView } from '../../ports/quota-log.ts';

import { aheadMs, factorRule, leadMs, stretchedMs } from './options.ts';
import { type Outage, ShadowLog } from './shadow-log.ts';

/** So many may ask together although the fair share is smaller: one round trip for one start would be dear. */
const leastTogether = 10;
const patientMs = 8;
const wokenWithinMs = 250;

/** What one process knows of one bucket: what the shared log last said of it, and its own starts. */
export class Bucket {
  readonly key: string;
  readonly label: string | undefined;
  readonly shadow: ShadowLog;
  /** Starts that were let through and have not been made yet. */
  promised = 0;
  /** Somebody was told to come back because too many were let through already. */
  held = false;
  factor = 1;
  readonly #stretchMs: number;
  #windows: readonly RateWindow[];
  #stretched: readonly RateWindow[];
  #allowed: readonly RateWindow[];
  #askAtMs = -Infinity;

  constructor({ key, windows, label }: LimitKey, stretchMs: number) {
    this.key = key;
    this.label = label;
    this.#stretchMs = stretchMs;
    this.#windows = windows;
    this.#stretched = stretch(windows, stretchMs);
    this.#allowed = this.#stretched;
    this.shadow = new ShadowLog(this.#stretched, stretchMs);
  }

  /** A limit that was reloaded or learned keeps the starts that were made. */
  reshape(windows: readonly RateWindow[]): void {
    if (windows === this.#windows) return;
    if (!sameWindows(windows, this.#windows)) {
      this.#stretched = stretch(windows, this.#stretchMs);
      this.shadow.reshape(this.#stretched);
      this.#allow(this.factor);
    }
    this.#windows = windows;
  }

  /** From when on it is worth asking for one more. */
  get askAtMs(): number {
    return this.#askAtMs;
  }

  /** Whether there is too little for all who ask. */
  scarceAt(nowMs: number): boolean {
    return this.#askAtMs + aheadMs > nowMs;
  }

  /** How long an ask may wait for others: only where there is too little for all. */
  patienceMs(nowMs: number): number {
    return this.scarceAt(nowMs) ? patientMs : 0;
  }

  /** Too many were let through already: when to come back, unless one is woken before because another has asked. */
  hold(nowMs: number): number {
    this.held = true;
    return nowMs + wokenWithinMs;
  }

  /** How many of one replica may ask together, so that the others get theirs. */
  fairShare(replicas: number): number {
    const [{ limit, windowMs } = { limit: Infinity, windowMs: 1 }] = this.#allowed;
    return Math.max(leastTogether, Math.ceil((limit * Math.min(1, aheadMs / windowMs)) / Math.max(1, replicas)));
  }

  /**
   * The log named this bucket as the one that decides, and when one more may start.
   * @param isFirst only in the first of its buckets a call is granted starts ahead
   * @param inHand starts that this process holds
   */
  nextAt(atMs: number, isFirst: boolean, inHand: number, nowMs: number): void {
    // Who holds some asks again shortly before they are used up; who does not as soon as there may be room.
    const earlierMs = !isFirst ? 0 : inHand > 0 ? leadMs : aheadMs / 2;
    // An ask says that more is wanted: only then a share that was learned grows again.
    const latestMs = this.factor < 1 ? nowMs + factorRule.everyMs : Infinity;
    this.#askAtMs = Math.max(nowMs, Math.min(atMs - earlierMs, latestMs));
  }

  /** The log said so. */
  learn({ factor, taken }: BucketView, nowMs: number): void {
    if (factor !== this.factor) this.#allow(factor);
    this.shadow.seen(taken, nowMs);
  }

  /** When one more may start while the log is away. */
  splitFreeAtMs(nowMs: number, outage: Outage, ahead = 0): number {
    return this.shadow.freeAtMs(nowMs, outage, this.#allowed, ahead);
  }

  /** Whether no start of an outage can be in a window any more. */
  outlived({ backMs }: Outage, nowMs: number): boolean {
    return backMs !== undefined && backMs + this.shadow.unsureForMs <= nowMs;
  }

  /** Whether a new one would answer the same. */
  idle(nowMs: number): boolean {
    return this.promised === 0 && this.#askAtMs <= nowMs && this.shadow.idle(nowMs);
  }

  #allow(factor: number): void {
    this.factor = factor;
    this.#allowed = this.#stretched.map(({ limit, windowMs }) => ({
      limit: Math.max(1, Math.floor(limit * factor + 1e-6)),
      windowMs,
    }));
  }
}

function stretch(windows: readonly RateWindow[], byMs: number): RateWindow[] {
  return windows.map(({ limit, windowMs }) => ({ limit, windowMs: stretchedMs(windowMs, byMs) }));
}

function sameWindows(a: readonly RateWindow[], b: readonly RateWindow[]): boolean {
  return (
    a.length === b.length && a.every(({ limit, windowMs }, i) => limit === b[i]?.limit && windowMs === b[i].windowMs)
  );
}
