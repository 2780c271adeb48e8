import type { Api, SandboxSettings } from '../settings.ts';

import { ArrivalGauge, FixedWindow, SlidingWindow, type Window, type WindowLimit } from './windows.ts';

/** A refusal: which ceiling was hit, and when it will be over. */
export interface Refusal {
  readonly limit: number;
  readonly waitMs: number;
}

/** What one (app, tenant, API) bucket has seen. */
export interface BucketFigures {
  readonly bucket: string;
  readonly arrivals: number;
  readonly refusals: number;
  readonly maxPerSecond: number;
  readonly maxPerMinute: number;
}

interface Bucket {
  readonly perSecond: ArrivalGauge;
  readonly perMinute: ArrivalGauge;
  /** How they are counted, and their lengths. */
  shape: string;
  windows: readonly Window[];
  arrivals: number;
  refusals: number;
}

interface Chat {
  readonly window: Window;
  readonly gauge: ArrivalGauge;
  lastMs: number;
}

const chatWindowMs = 1_000;
const chatsBeforeSweep = 10_000;

/**
 * The quota of the platform, and the evidence whether a caller kept it. Every arrival is measured, also with limits
 * off: `maxPerSecond` and `maxPerMinute` are the most arrivals that any sliding window held.
 */
export class Limits {
  readonly #settings: () => SandboxSettings;
  readonly #buckets = new Map<string, Bucket>();
  readonly #chats = new Map<string, Chat>();
  #chatRefusals = 0;
  #maxPerChat = 0;

  constructor(settings: () => SandboxSettings) {
    this.#settings = settings;
  }

  /** Counts a call of an app to an API. A refused call uses up nothing. */
  arrive(app: string, tenant: string, api: Api, nowMs: number): Refusal | undefined {
    const bucket = this.#bucketOf(`${app}/${tenant}/${api}`, api);
    bucket.arrivals++;
    bucket.perSecond.arrive(nowMs);
    bucket.perMinute.arrive(nowMs);
    let refusal: Refusal | undefined;
    // The window that stays closed longest decides: coming back earlier would only be refused again.
    for (const window of bucket.windows) {
      const waitMs = window.waitMs(nowMs);
      if (waitMs > (refusal?.waitMs ?? 0)) refusal = { limit: window.limit, waitMs };
    }
    if (refusal === undefined) for (const window of bucket.windows) window.take(nowMs);
    else bucket.refusals++;
    return refusal;
  }

  /** Counts a message to a chat or an edit of a message. True when it is one too many. */
  refusesChat(tenant: string, chat: string, nowMs: number): boolean {
    const { chatPerSecond } = this.#settings();
    const key = `${tenant}/${chat}`;
    let entry = this.#chats.get(key);
    if (entry === undefined) {
      if (this.#chats.size >= chatsBeforeSweep) this.#sweep(nowMs);
      const window = new SlidingWindow({ limit: Math.max(1, chatPerSecond), windowMs: chatWindowMs });
      entry = { window, gauge: new ArrivalGauge(chatWindowMs), lastMs: nowMs };
      this.#chats.set(key, entry);
    }
    entry.lastMs = nowMs;
    entry.gauge.arrive(nowMs);
    this.#maxPerChat = Math.max(this.#maxPerChat, entry.gauge.max);
    if (chatPerSecond === 0) return false;
    if (entry.window.waitMs(nowMs) > 0) {
      this.#chatRefusals++;
      return true;
    }
    entry.window.take(nowMs);
    return false;
  }

  /**
   * Takes over changed settings. What was measured stays, and where only limits have changed also what was granted: a quota
   * that is taken away while it is in use.
   */
  rebuild(): void {
    for (const [key, bucket] of this.#buckets) {
      const api = key.slice(key.lastIndexOf('/') + 1);
      const limits = this.#limitsOf(api);
      const shape = this.#shapeOf(limits);
      bucket.windows =
        shape === bucket.shape
          ? bucket.windows.map((window, index) => window.withLimit(limits[index]?.limit ?? window.limit))
          : this.#windowsOf(limits);
      bucket.shape = shape;
    }
    this.#chats.clear();
  }

  /** Forgets grants and figures. */
  clear(): void {
    this.#buckets.clear();
    this.#chats.clear();
    this.#chatRefusals = 0;
    this.#maxPerChat = 0;
  }

  /** Figures per bucket, and over all chats. */
  figures(): { buckets: BucketFigures[]; chats: { refusals: number; maxPerSecond: number } } {
    const buckets = [...this.#buckets].map(([bucket, { arrivals, refusals, perSecond, perMinute }]) => ({
      bucket,
      arrivals,
      refusals,
      maxPerSecond: perSecond.max,
      maxPerMinute: perMinute.max,
    }));
    return { buckets, chats: { refusals: this.#chatRefusals, maxPerSecond: this.#maxPerChat } };
  }

  #bucketOf(key: string, api: Api): Bucket {
    const known = this.#buckets.get(key);
    if (known !== undefined) return known;
    const limits = this.#limitsOf(api);
    const bucket = {
      perSecond: new ArrivalGauge(1_000),
      perMinute: new ArrivalGauge(60_000),
      shape: this.#shapeOf(limits),
      windows: this.#windowsOf(limits),
      arrivals: 0,
      refusals: 0,
    };
    this.#buckets.set(key, bucket);
    return bucket;
  }

  #limitsOf(api: string): readonly WindowLimit[] {
    const { tierMode, tiers } = this.#settings();
    return tierMode === 'off' ? [] : (tiers[api as Api] ?? []);
  }

  #shapeOf(limits: readonly WindowLimit[]): string {
    return [this.#settings().tierMode, ...limits.map(({ windowMs }) => windowMs)].join(' ');
  }

  #windowsOf(limits: readonly WindowLimit[]): readonly Window[] {
    const sliding = this.#settings().tierMode === 'sliding';
    return limits.map((limit) => (sliding ? new SlidingWindow(limit) : new FixedWindow(limit)));
  }

  #sweep(nowMs: number): void {
    for (const [key, { lastMs }] of this.#chats) if (lastMs <= nowMs - chatWindowMs) this.#chats.delete(key);
  }
}
