import type { LimitKey, RateWindow } from '../../ports/profile.ts';
import type { BucketView, QuotaFleet } from '../../ports/quota-log.ts';

import { ExactLog } from './exact-log.ts';
import { fullRule, leastShared } from './options.ts';

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
const mostAhead = 64;
/** So many may ask together although the fair share is smaller: one round trip for one start would be dear. */
const leastTogether = 10;
const scarceForMs = 2_000;
const gatherMs = 20;
const patientMs = 8;

/** What one process knows of one bucket: its own grants, what the log last said, and starts granted ahead of need. */
export class Bucket {
  readonly key: string;
  readonly label: string | undefined;
  /** Starts that were let through to ask and have not asked yet. */
  promised = 0;
  /** Somebody was told to come back because too many were let through already. */
  held = false;
  /** Starts granted ahead of need. */
  inHand = 0;
  /** An ask for this bucket alone is under way. */
  asking = false;
  factor = 1;
  /** The log grants nothing before. */
  closedUntilMs = -Infinity;
  /** Which outage this process's grants have been written down for. */
  recorded: Outage | undefined;
  readonly #stretchMs: number;
  #windows: readonly RateWindow[];
  #stretched: readonly RateWindow[];
  #allowed: readonly RateWindow[];
  #own: ExactLog;
  #taken: readonly number[] = [];
  #seenMs = -Infinity;
  #fullMs = -Infinity;
  #partWhenFull = 0;
  #ahead = 0;

  constructor({ key, windows, label }: LimitKey, stretchMs: number) {
    this.key = key;
    this.label = label;
    this.#stretchMs = stretchMs;
    this.#windows = windows;
    this.#stretched = stretch(windows, stretchMs);
    this.#allowed = this.#stretched;
    this.#own = new ExactLog(this.#stretched);
  }

  /** A limit that was reloaded or learned keeps the grants that were given. */
  reshape(windows: readonly RateWindow[]): void {
    if (windows === this.#windows) return;
    if (!sameWindows(windows, this.#windows)) {
      this.#stretched = stretch(windows, this.#stretchMs);
      this.#own = this.#own.reshaped(this.#stretched);
      this.#allow(this.factor);
    }
    this.#windows = windows;
  }

  /** When one more may start at the earliest, as far as this process knows; `ahead` others will start before. */
  freeAtMs(nowMs: number, ahead: number, replicas: number): number {
    if (ahead < this.inHand) return nowMs;
    const windows = this.#windowsNow(nowMs, replicas);
    const waiting = ahead - this.inHand;
    const atMs = Math.max(this.closedUntilMs, this.#own.freeAtMs(nowMs, waiting, windows));
    if (atMs <= nowMs || replicas < 2 || !this.#isShared()) return atMs;
    // Who must wait anyway waits a little longer, for others to go with: each wave is a round trip, and waves that are
    // told apart by milliseconds would stay so for ever.
    const most = Math.min(...windows.map(({ limit }) => limit));
    const others = Math.min(leastTogether, most - (waiting % most)) - 1;
    return Math.min(Math.max(atMs, this.#own.freeAtMs(nowMs, waiting + others, windows)), atMs + gatherMs);
  }

  /**
   * When one more may start while the limits are split among the replicas. Right after the log went away nobody knows
   * what the others were granted last: a short window is sat out, of a longer one only what was surely free is shared.
   */
  splitFreeAtMs(nowMs: number, { sinceMs, fleet }: Outage, ahead = 0): number {
    let atMs = nowMs;
    for (const [index, { limit, windowMs }] of this.#allowed.entries()) {
      const share = (limit / fleet.replicas) * splitShare;
      // Less than one start per window: one in a window that is as much longer.
      const own = share >= 1 ? { limit: Math.floor(share), windowMs } : { limit: 1, windowMs: windowMs / share };
      atMs = Math.max(atMs, this.#own.freeAtMs(nowMs, ahead, [own]));
      const overMs = sinceMs + windowMs;
      if (overMs <= atMs) continue;
      const isShort = windowMs - this.#stretchMs <= shortWindowMs;
      const surelyFree = isShort ? 0 : limit - (this.#taken[index] ?? limit) - this.#unseenGrants(sinceMs);
      const left = Math.floor((surelyFree / fleet.replicas) * splitShare) - this.#own.since(sinceMs).length;
      if (ahead >= left) atMs = overMs;
    }
    return atMs;
  }

  /** Whether no grant of an outage can be in a window any more. */
  outlived({ backMs }: Outage, nowMs: number): boolean {
    return backMs !== undefined && backMs + this.unsureForMs <= nowMs;
  }

  /** For how long after the log came back grants may count that it was not told of in time. */
  get unsureForMs(): number {
    return Math.max(0, ...this.#stretched.map(({ windowMs }) => windowMs)) + othersBackMs;
  }

  /** How many of one replica may go and ask together, so that the others get theirs. */
  fairShare(replicas: number): number {
    const [{ limit } = { limit: Infinity }] = this.#allowed;
    return Math.max(leastTogether, Math.ceil(limit / Math.max(1, replicas)));
  }

  /** How long ago this process's grants were that the log does not hold. @param all also those before the outage */
  unrecordedAgoMs(nowMs: number, { sinceMs }: Outage, all: boolean): number[] {
    return this.#own.since(all ? -Number.MAX_VALUE : sinceMs).map((atMs) => nowMs - atMs);
  }

  /** The log said so. */
  learn({ factor, taken, fullAgoMs }: BucketView, nowMs: number): void {
    if (factor !== this.factor) this.#allow(factor);
    this.#taken = taken;
    this.#seenMs = nowMs;
    if (fullAgoMs >= 0) this.#full(nowMs - fullAgoMs);
  }

  /** So many grants came, or were decided on here. */
  note(count: number, nowMs: number): void {
    for (let i = 0; i < count; i++) this.#own.note(nowMs);
  }

  /** A grant of that time was not used. */
  forget(atMs: number): void {
    this.#own.giveBack(atMs);
  }

  /** How many to ask for beyond those that wait: as many as lately were used within the life of a grant. */
  aheadAt(nowMs: number): number {
    // Where there lately was too little for all, what is taken ahead of need is taken from others.
    return this.closedUntilMs + scarceForMs > nowMs ? 0 : this.#ahead;
  }

  /** How long an ask may wait for others: only where there lately was too little for all. */
  patienceMs(nowMs: number): number {
    return this.#isShared() && this.closedUntilMs + scarceForMs > nowMs ? patientMs : 0;
  }

  /** What was granted ahead of need was used up in time, or so many were left over. */
  usedAhead(leftOver: number): void {
    const [{ limit } = { limit: 4 }] = this.#windows;
    const most = Math.min(mostAhead, Math.floor(limit / 4));
    this.#ahead = leftOver > 0 ? Math.max(0, this.#ahead - leftOver) : Math.min(most, this.#ahead * 2 + 1);
  }

  /** Share of its fullest window that is used, by what the log last said and by its own grants. */
  used(nowMs: number): number {
    const shares = this.#stretched.map(({ limit, windowMs }, index) => {
      const own = this.#own.since(nowMs - windowMs).length;
      const seen = nowMs - this.#seenMs < windowMs ? (this.#taken[index] ?? 0) : 0;
      return Math.max(own, seen) / limit;
    });
    return Math.max(0, ...shares);
  }

  /** Whether a new one would answer the same. */
  idle(nowMs: number): boolean {
    return this.promised === 0 && this.inHand === 0 && !this.asking && this.#own.idle(nowMs);
  }

  /** Others may have been granted so many between the last answer of the log and its going away. */
  #unseenGrants(sinceMs: number): number {
    const [{ limit, windowMs } = { limit: Infinity, windowMs: 1 }] = [...this.#allowed].sort(
      (a, b) => a.windowMs - b.windowMs,
    );
    return limit * Math.ceil(Math.max(1, sinceMs - this.#seenMs) / windowMs);
  }

  /** Whether starts come in waves that the replicas share. */
  #isShared(): boolean {
    return this.#windows.every(({ limit }) => limit >= leastShared);
  }

  /**
   * What it is judged by. When the bucket was full a window ago and this replica has had its part again, the others will
   * take the rest: to ask for more would be a round trip for nothing. Its part is what it had then, at least the fair share.
   */
  #windowsNow(nowMs: number, replicas: number): readonly RateWindow[] {
    const [shortest] = this.#allowed;
    if (replicas < 2 || shortest === undefined || nowMs - this.#fullMs > shortest.windowMs * 1.5) return this.#allowed;
    const part = Math.min(shortest.limit, Math.max(this.fairShare(replicas), this.#partWhenFull));
    return [...this.#allowed, { limit: part, windowMs: shortest.windowMs }];
  }

  #full(atMs: number): void {
    const [shortest] = this.#stretched;
    if (shortest === undefined || atMs - this.#fullMs < fullRule.everyMs) return;
    this.#fullMs = atMs;
    this.#partWhenFull = this.#own.since(atMs - shortest.windowMs).filter((grantMs) => grantMs <= atMs + 5).length;
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
  return windows.map(({ limit, windowMs }) => ({ limit, windowMs: windowMs + byMs }));
}

function sameWindows(a: readonly RateWindow[], b: readonly RateWindow[]): boolean {
  return (
    a.length === b.length && a.every(({ limit, windowMs }, i) => limit === b[i]?.limit && windowMs === b[i].windowMs)
  );
}
