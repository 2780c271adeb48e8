import type { LimitKey } from '../../ports/profile.ts';
import type { BucketView, QuotaAnswer, QuotaRefusal } from '../../ports/quota-log.ts';

import { Learned } from './learned.ts';
import { defaultStretchMs, spreadRule, stretchedMs } from './options.ts';
import { Walk } from './walk.ts';

const { leastLimit, longestWindowMs, atOnce, evenness } = spreadRule;

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
}

const lookedAt = 8;

/**
 * Exact limits of one process over the buckets that a call draws from: what an embedded worker counts by, and the model of
 * `scripts/quota.lua`, which decides the same in Redis. Sliding logs per window with a learned factor and cool-downs. Reads no clock; times are milliseconds that do
 * not go back.
 */
export class QuotaBook {
  readonly #stretchMs: number;
  readonly #maxBuckets: number;
  readonly #buckets = new Map<string, Bucket>();
  readonly #walk = new Walk(this.#buckets);

  constructor({ stretchMs = defaultStretchMs, maxBuckets = 10_000 }: QuotaBookOptions = {}) {
    this.#stretchMs = stretchMs;
    this.#maxBuckets = maxBuckets;
  }

  /** Buckets that it remembers. */
  get size(): number {
    return this.#buckets.size;
  }

  /** Grants as many of the wanted starts as all buckets have room for; see {@link QuotaLog}. */
  take(limits: readonly LimitKey[], want: number, nowMs: number, aheadMs?: number): QuotaAnswer {
    const stamps: number[] = [];
    let next = this.#next(limits, nowMs, aheadMs !== undefined);
    while (stamps.length < want) {
      const mayWait = next.key === limits[0]?.key && next.atMs - nowMs <= (aheadMs ?? 0);
      if (next.atMs > nowMs && !mayWait) break;
      stamps.push(next.atMs);
      for (const { key, windows } of limits) {
        const bucket = this.#bucket(key, nowMs);
        for (const { windowMs } of windows) this.#current(bucket, windowMs, nowMs).times.push(next.atMs);
      }
      next = this.#next(limits, nowMs, aheadMs !== undefined);
    }
    const buckets = limits.map(({ key, windows }) => {
      const bucket = this.#bucket(key, nowMs);
      const taken = windows.map(({ windowMs }) => count(this.#current(bucket, windowMs, nowMs)));
      if (bucket.coolUntilMs <= nowMs) {
        const full = windows.filter(({ limit }, index) => (taken[index] ?? 0) >= allowed(limit, bucket.learned.factor));
        const shortestMs = Math.min(...windows.map(({ windowMs }) => windowMs));
        // A refusal costs a rest about as long as the window.
        const costly = full.every(({ windowMs }) => windowMs > shortestMs);
        if (full.length > 0) bucket.learned.wanted(nowMs, bucket.coolUntilMs, costly);
      }
      return view(key, bucket, taken, nowMs);
    });
    const waitMs = next.atMs - nowMs;
    const inMs = stamps.map((atMs) => atMs - nowMs);
    return { kind: 'answer', granted: stamps.length, stamps, inMs, logMs: nowMs, waitMs, key: next.key, buckets };
  }

  /** Forgets grants that were not used. */
  giveBack(limits: readonly LimitKey[], stamps: readonly number[]): void {
    for (const { key, windows } of limits) {
      for (const { windowMs } of windows) {
        const grants = this.#buckets.get(key)?.windows.get(windowMs);
        if (grants === undefined) continue;
        for (const stamp of stamps) {
          const at = grants.times.lastIndexOf(stamp);
          if (at >= grants.head) grants.times.splice(at, 1);
        }
      }
    }
  }

  /** Writes down grants that were made elsewhere, so long ago. */
  record({ key, windows }: LimitKey, agoMs: readonly number[], nowMs: number): void {
    const bucket = this.#bucket(key, nowMs);
    for (const { windowMs } of windows) {
      const grants = this.#current(bucket, windowMs, nowMs);
      const times = agoMs.filter((ago) => ago < stretchedMs(windowMs, this.#stretchMs)).map((ago) => nowMs - ago);
      const { times: known, head } = grants;
      grants.times = [...known.slice(head), ...times].sort((a, b) => a - b);
      grants.head = 0;
    }
  }

  /** An upstream refused: the bucket rests, and learns from it what {@link Learned} says. */
  refused({ limit: { key, windows }, coolMs, agoMs }: QuotaRefusal, nowMs: number): BucketView {
    const bucket = this.#bucket(key, nowMs);
    const startedMs = nowMs - agoMs;
    if (bucket.coolUntilMs <= nowMs) bucket.learned.restBegins(nowMs, nowMs - bucket.coolUntilMs, startedMs);
    bucket.coolUntilMs = Math.max(bucket.coolUntilMs, nowMs + coolMs);
    const current = windows.map(({ windowMs }) => this.#current(bucket, windowMs, nowMs));
    bucket.learned.refused(
      windows.map(({ limit }, index) => ({ limit, starts: current[index]?.times.slice(current[index].head) ?? [] })),
      startedMs,
      nowMs,
    );
    return view(key, bucket, current.map(count), nowMs);
  }

  /** When one more may start in all buckets, never before what was granted last, and which bucket decides; `''`: none waits. */
  #next(limits: readonly LimitKey[], nowMs: number, spread: boolean): { readonly atMs: number; readonly key: string } {
    let next = { atMs: nowMs, key: '' };
    for (const { key, windows } of limits) {
      const bucket = this.#bucket(key, nowMs);
      let atMs = bucket.coolUntilMs;
      for (const { limit, windowMs } of windows) {
        const grants = this.#current(bucket, windowMs, nowMs);
        const [held, most] = [count(grants), allowed(limit, bucket.learned.factor)];
        const lastMs = grants.times.at(-1) ?? -Infinity;
        atMs = Math.max(atMs, lastMs);
        const countedMs = stretchedMs(windowMs, this.#stretchMs);
        if (held >= most) atMs = Math.max(atMs, (grants.times.at(-most) ?? 0) + countedMs);
        if (spread && windowMs <= longestWindowMs && most >= leastLimit && held >= most * atOnce) {
          atMs = Math.max(atMs, lastMs + Math.floor((countedMs * 1_000 * evenness) / most) / 1_000);
        }
      }
      if (atMs > next.atMs) next = { atMs, key };
    }
    return next;
  }

  #current(bucket: Bucket, windowMs: number, nowMs: number): Grants {
    let grants = bucket.windows.get(windowMs);
    if (grants === undefined) bucket.windows.set(windowMs, (grants = { times: [], head: 0 }));
    const { times } = grants;
    const sinceMs = nowMs - stretchedMs(windowMs, this.#stretchMs);
    while (grants.head < times.length && (times[grants.head] ?? 0) <= sinceMs) grants.head++;
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
      bucket = { windows: new Map(), coolUntilMs: -Infinity, learned: new Learned(nowMs) };
      this.#buckets.set(key, bucket);
    }
    return bucket;
  }

  /** Looks at a few in turn: idle ones go. */
  #makeRoom(nowMs: number): void {
    for (let looked = 0; looked < lookedAt; looked++) {
      const [key, bucket] = this.#walk.next() ?? [];
      if (key !== undefined && bucket !== undefined && this.#isIdle(bucket, nowMs)) this.#buckets.delete(key);
    }
  }

  #isIdle(bucket: Bucket, nowMs: number): boolean {
    if (bucket.coolUntilMs > nowMs || bucket.learned.factor < 1) return false;
    for (const windowMs of bucket.windows.keys()) if (count(this.#current(bucket, windowMs, nowMs)) > 0) return false;
    return true;
  }
}

function count({ times, head }: Grants): number {
  return times.length - head;
}

/** Starts that a limit allows under a factor; the small excess keeps a share that was learned from whole starts whole. */
function allowed(limit: number, factor: number): number {
  return Math.max(1, Math.floor(limit * factor + 1e-6));
}

function view(key: string, { coolUntilMs, learned }: Bucket, taken: readonly number[], nowMs: number): BucketView {
  return { key, coolMs: Math.max(0, coolUntilMs - nowMs), factor: learned.factor, taken };
}
