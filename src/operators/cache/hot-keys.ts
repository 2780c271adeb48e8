/** A key that takes a large part of the traffic. */
export interface HotKey {
  readonly key: string;
  /** Rate over the last seconds. */
  readonly perSecond: number;
  /** Its share of all that was counted, 0 to 1. */
  readonly share: number;
}

/** When a key is hot. */
export interface HotKeysOptions {
  /** At least this share of all that is counted. Default 0.1. */
  readonly share?: number;
  /** At least so often. Default 20. */
  readonly perSecond?: number;
}

// Counters of one window: whatever has a share of more than a 64th is among them (Metwally et al., Space-Saving, 2005).
const counters = 64;
const windowMs = 4_000;
// Each is a label of a metric.
const mostNamed = 10;

interface Count {
  seen: number;
  /** How much of it may belong to keys that had the counter before. */
  over: number;
}

/** One window of counts. */
class Window {
  readonly counts = new Map<string, Count>();
  total = 0;

  add(key: string): void {
    this.total++;
    const count = this.counts.get(key);
    if (count !== undefined) {
      count.seen++;
      return;
    }
    if (this.counts.size < counters) {
      this.counts.set(key, { seen: 1, over: 0 });
      return;
    }
    let least: string | undefined;
    let fewest = Infinity;
    for (const [other, { seen }] of this.counts) if (seen < fewest) [least, fewest] = [other, seen];
    if (least !== undefined) this.counts.delete(least);
    this.counts.set(key, { seen: fewest + 1, over: fewest });
  }
}

/**
 * Finds the keys that most of the traffic is about, in fixed memory: what is counted shows within four seconds, and is
 * forgotten within eight. Plain decision: the time is an argument.
 */
export class HotKeys {
  readonly #share: number;
  readonly #perSecond: number;
  #before = new Window();
  #current = new Window();
  #startMs = -Infinity;
  #found: { readonly keys: ReadonlyMap<string, HotKey>; readonly untilMs: number } | undefined;

  constructor({ share = 0.1, perSecond = 20 }: HotKeysOptions = {}) {
    this.#share = share;
    this.#perSecond = perSecond;
  }

  /** A key was asked for. */
  count(key: string, nowMs: number): void {
    this.#roll(nowMs);
    this.#current.add(key);
  }

  /** Whether a key is hot; looked at anew twice a second. */
  isHot(key: string, nowMs: number): boolean {
    if (this.#found === undefined || nowMs >= this.#found.untilMs) {
      const keys = new Map(this.hot(nowMs).map((one) => [one.key, one]));
      this.#found = { keys, untilMs: nowMs + 500 };
    }
    return this.#found.keys.has(key);
  }

  /** The hot keys, hottest first, ten at most. */
  hot(nowMs: number): readonly HotKey[] {
    this.#roll(nowMs);
    const seenMs = nowMs - this.#startMs;
    // A window that has just begun says little, so the one before it counts in proportion.
    const weight = Math.max(0, 1 - seenMs / windowMs);
    const total = this.#before.total * weight + this.#current.total;
    if (total === 0) return [];
    const keys = new Set([...this.#before.counts.keys(), ...this.#current.counts.keys()]);
    const all = [...keys].map((key): HotKey => {
      const times = surely(this.#before, key) * weight + surely(this.#current, key);
      return { key, perSecond: (times * 1_000) / windowMs, share: times / total };
    });
    return all
      .filter(({ share, perSecond }) => share >= this.#share && perSecond >= this.#perSecond)
      .sort((a, b) => b.perSecond - a.perSecond)
      .slice(0, mostNamed);
  }

  #roll(nowMs: number): void {
    if (nowMs - this.#startMs < windowMs) return;
    // After a pause the window before it is over, too.
    const next = nowMs - this.#startMs < 2 * windowMs;
    this.#before = next ? this.#current : new Window();
    this.#current = new Window();
    this.#startMs = next ? this.#startMs + windowMs : nowMs;
  }
}

function surely(window: Window, key: string): number {
  const count = window.counts.get(key);
  return count === undefined ? 0 : count.seen - count.over;
}
