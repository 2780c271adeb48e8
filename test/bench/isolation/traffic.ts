import { quantile } from '../quantile.ts';

/** How one call ended, and when. */
export interface Ended {
  readonly upstream: string;
  readonly offeredMs: number;
  readonly ms: number;
  /** `live`, `cache`, `default`, or `none` for a call without an answer. */
  readonly source: string;
  /** Whether its upstream's breaker was open when it was offered. */
  readonly open: boolean;
}

/** Who takes calls. */
export interface Taker {
  /** Resolves with where the answer came from; `none` for no answer. */
  readonly call: (upstream: string, n: number) => Promise<string>;
  readonly isOpen: (upstream: string) => boolean;
}

/** Offers each upstream the same rate, whether or not earlier calls have ended, and remembers how each ended. */
export class Traffic {
  readonly ended: Ended[] = [];
  readonly #taker: Taker;
  readonly #upstreams: readonly string[];
  readonly #perSecond: number;
  readonly #open = new Set<Promise<void>>();
  #offered = 0;

  /** @param perSecond of each upstream */
  constructor(taker: Taker, upstreams: readonly string[], perSecond: number) {
    this.#taker = taker;
    this.#upstreams = upstreams;
    this.#perSecond = perSecond;
  }

  /** Calls offered so far, over all upstreams. */
  get offered(): number {
    return this.#offered;
  }

  /**
   * Offers for so long.
   * @param times how many callers an upstream has for the usual one
   * @returns when it began and ended
   */
  async during(seconds: number, times: Readonly<Record<string, number>> = {}): Promise<readonly [number, number]> {
    const startedMs = performance.now();
    const total = Math.round(seconds * this.#perSecond);
    for (let n = 0; n < total;) {
      const due = Math.min(total, Math.floor(((performance.now() - startedMs) * this.#perSecond) / 1_000));
      for (; n < due; n++) {
        for (const upstream of this.#upstreams) {
          for (let i = 0; i < (times[upstream] ?? 1); i++) this.#one(upstream, n);
        }
      }
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    return [startedMs, performance.now()];
  }

  /** Waits for what has not ended. @returns how many never did */
  async settle(patienceMs: number): Promise<number> {
    const late = new Promise((resolve) => setTimeout(resolve, patienceMs));
    await Promise.race([Promise.all(this.#open), late]);
    return this.#open.size;
  }

  #one(upstream: string, n: number): void {
    this.#offered++;
    const offeredMs = performance.now();
    const open = this.#taker.isOpen(upstream);
    const call = this.#taker.call(upstream, n).then((source) => {
      this.ended.push({ upstream, offeredMs, ms: performance.now() - offeredMs, source, open });
      this.#open.delete(call);
    });
    this.#open.add(call);
  }
}

/** Calls offered in a span. */
export function offeredIn(ended: readonly Ended[], [fromMs, toMs]: readonly [number, number]): Ended[] {
  return ended.filter(({ offeredMs }) => offeredMs >= fromMs && offeredMs < toMs);
}

/**
 * The p99 of the usual second: of each second the p99, of these the median. A pause of the machine then weighs as much as
 * the second in which it fell.
 */
export function usualP99Ms(ended: readonly Ended[]): number {
  const seconds = new Map<number, number[]>();
  for (const { offeredMs, ms } of ended) {
    const second = Math.floor(offeredMs / 1_000);
    const list = seconds.get(second);
    if (list === undefined) seconds.set(second, [ms]);
    else list.push(ms);
  }
  return quantile(
    [...seconds.values()].map((list) => quantile(list, 0.99)),
    0.5,
  );
}
