import type { LimitKey } from '../../ports/profile.ts';
import type { BucketView, QuotaAnswer } from '../../ports/quota-log.ts';

import { Learned } from './learned.ts';
import { defaultStretchMs, fullRule, leastShared } from './options.ts';

/** What may be set for a {@link QuotaBook}. */
export interface QuotaBookOptions {
  /** Milliseconds added to every window. Default 60. */
  readonly stretchMs?: number;
  /** Buckets kept without need; from there on idle ones make room. Default 10,000. */
  readonly maxBuckets?: number;
}

/** Times of grants in one window, oldest first. */
interface Grants {
  times: number[];
  head: number;
}

interface Bucket {
  readonly windows: Map<number, Grants>;
  coolUntilMs: number;
  readonly learned: Learned;
  /** When it last had no room. */
  fullMs: number;
}

const lookedAt = 8;

/**
 * The rules of a quota log, for one process: the same decisions as `scripts/quota.lua` makes in Redis, and its model in
 * tests. Sliding logs per window with a learned factor and cool-downs. Reads no clock; times are milliseconds that do
 * not go back.
 */
export class QuotaBook {
  readonly #stretchMs: number;
  readonly #maxBuckets: number;
  readonly #buckets = new Map<string, Bucket>();

  constructor({ stretchMs = defaultStretchMs, maxBuckets = 10_000 }: QuotaBookOptions = {}) {
    this.#stretchMs = stretchMs;
    this.#maxBuckets = maxBuckets;
  }

  /** Grants as many of the wanted starts as all buckets have room for. */
  take(limits: readonly LimitKey[], want: number, nowMs: number): QuotaAnswer {
    let granted = want;
    for (const limit of limits) {
      const bucket = this.#bucket(limit.key, nowMs);
      if (bucket.coolUntilMs > nowMs) granted = 0;
      for (const { limit: most, windowMs } of limit.windows) {
        const room = allowed(most, bucket.learned.factor) - count(this.#current(bucket, windowMs, nowMs));
        granted = Math.max(0, Math.min(granted, room));
      }
    }
    let waitMs = 0;
    let key = '';
    const buckets = limits.map((limit) => {
      const bucket = this.#bucket(limit.key, nowMs);
      let untilMs = bucket.coolUntilMs;
      let full = false;
      const taken: number[] = [];
      for (const { limit: most, windowMs } of limit.windows) {
        const grants = this.#current(bucket, windowMs, nowMs);
        for (let i = 0; i < granted; i++) grants.times.push(nowMs);
        taken.push(count(grants));
        const over = count(grants) - allowed(most, bucket.learned.factor);
        if (over < 0) continue;
        full = true;
        untilMs = Math.max(untilMs, (grants.times[grants.head + over] ?? nowMs) + windowMs + this.#stretchMs);
      }
      if (untilMs - nowMs > waitMs) [waitMs, key] = [untilMs - nowMs, limit.key];
      const seen = view(limit.key, bucket, taken, nowMs);
      if (!full) return seen;
      if (bucket.coolUntilMs <= nowMs) bucket.learned.wanted(nowMs);
      const isShared = limit.windows.every(({ limit: most }) => most >= leastShared);
      if (isShared && nowMs - bucket.fullMs >= fullRule.everyMs) bucket.fullMs = nowMs;
      // What was before: the present the asker sees for itself.
      return { ...view(limit.key, bucket, taken, nowMs), fullAgoMs: seen.fullAgoMs };
    });
    return { kind: 'answer', granted, stamp: nowMs, waitMs, key, buckets };
  }

  /** Forgets grants of that time that were not used. */
  giveBack(limits: readonly LimitKey[], stamp: number, unused: number): void {
    for (const { key, windows } of limits) {
      for (const { windowMs } of windows) {
        const grants = this.#buckets.get(key)?.windows.get(windowMs);
        if (grants === undefined) continue;
        for (let i = 0; i < unused; i++) {
          const at = grants.times.lastIndexOf(stamp);
          if (at < grants.head) break;
          grants.times.splice(at, 1);
        }
      }
    }
  }

  /** Writes down grants that were made elsewhere, so long ago. */
  record({ key, windows }: LimitKey, agoMs: readonly number[], nowMs: number): void {
    const bucket = this.#bucket(key, nowMs);
    for (const { windowMs } of windows) {
      const grants = this.#current(bucket, windowMs, nowMs);
      const times = agoMs.filter((ago) => ago < windowMs + this.#stretchMs).map((ago) => nowMs - ago);
      const { times: known, head } = grants;
      grants.times = [...known.slice(head), ...times].sort((a, b) => a - b);
      grants.head = 0;
    }
  }

  /** An upstream refused: the bucket rests, and learns from it what {@link Learned} says. */
  refused({ key, windows }: LimitKey, coolMs: number, nowMs: number): BucketView {
    const bucket = this.#bucket(key, nowMs);
    if (bucket.coolUntilMs <= nowMs) bucket.learned.restBegins(nowMs, nowMs - bucket.coolUntilMs);
    bucket.coolUntilMs = Math.max(bucket.coolUntilMs, nowMs + coolMs);
    const taken = windows.map(({ windowMs }) => count(this.#current(bucket, windowMs, nowMs)));
    bucket.learned.refused(
      windows.map(({ limit }, index) => ({ limit, starts: taken[index] ?? 0 })),
      nowMs,
    );
    return view(key, bucket, taken, nowMs);
  }

  #current(bucket: Bucket, windowMs: number, nowMs: number): Grants {
    let grants = bucket.windows.get(windowMs);
    if (grants === undefined) bucket.windows.set(windowMs, (grants = { times: [], head: 0 }));
    const { times } = grants;
    while (grants.head < times.length && (times[grants.head] ?? 0) + windowMs + this.#stretchMs <= nowMs) grants.head++;
    if (grants.head > 64 && grants.head * 2 > times.length) {
      times.splice(0, grants.head);
      grants.head = 0;
    }
    return grants;
  }

  #bucket(key: string, nowMs: number): Bucket {
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      if (this.#buckets.size >= this.#maxBuckets) this.#makeRoom(nowMs);
      bucket = { windows: new Map(), coolUntilMs: -Infinity, learned: new Learned(nowMs), fullMs: -Infinity };
      this.#buckets.set(key, bucket);
    }
    return bucket;
  }

  /** Looks at the few oldest: idle ones go, others move to the end of the row, so a look costs the same always. */
  #makeRoom(nowMs: number): void {
    let left = Math.min(lookedAt, this.#buckets.size);
    for (const [key, bucket] of this.#buckets) {
      if (left-- === 0) return;
      this.#buckets.delete(key);
      const idle = [...bucket.windows.keys()].every((windowMs) => count(this.#current(bucket, windowMs, nowMs)) === 0);
      if (!idle || bucket.coolUntilMs > nowMs || bucket.learned.factor < 1) this.#buckets.set(key, bucket);
    }
  }
}

function count({ times, head }: Grants): number {
  return times.length - head;
}

/** Starts that a limit allows under a factor; the small excess keeps a share that was learned from whole starts whole. */
function allowed(limit: number, factor: number): number {
  return Math.max(1, Math.floor(limit * factor + 1e-6));
}

function view(key: string, bucket: Bucket, taken: readonly number[], nowMs: number): BucketView {
  const { coolUntilMs, learned, fullMs } = bucket;
  const fullAgoMs = nowMs - fullMs < fullRule.keptMs ? nowMs - fullMs : -1;
  return { key, coolMs: Math.max(0, coolUntilMs - nowMs), factor: learned.factor, taken, fullAgoMs };
}
