import type { BreakerOptions } from './options.ts';

const firstWaitMs = 1_000;
// Longer waits lock a healthy upstream out and spare a sick one next to nothing.
const longestWaitMs = 10_000;

/**
 * When the declared probe of an open breaker is due: 1, 2, 4, 8, 10, 10 ... seconds apart, one at a time, until enough of
 * them have succeeded in a row. A probe that never reports is given up after `probeLeaseMs`.
 */
export class ProbeSchedule {
  readonly #inARow: number;
  readonly #leaseMs: number;
  #waitMs = firstWaitMs;
  #dueMs = Infinity;
  #sentMs = 0;
  #successes = 0;

  constructor({ probesToClose, probeLeaseMs }: Pick<BreakerOptions, 'probesToClose' | 'probeLeaseMs'>) {
    this.#inARow = probesToClose;
    this.#leaseMs = probeLeaseMs;
  }

  /** Whether enough succeeded in a row: then none is due any more. */
  get passed(): boolean {
    return this.#successes >= this.#inARow;
  }

  /** When the next one may be sent; while one is out, when it is given up. */
  get dueMs(): number {
    return this.#dueMs;
  }

  /** The breaker opened: everything starts over. */
  begin(nowMs: number): void {
    this.#successes = 0;
    this.#waitMs = firstWaitMs;
    this.#dueMs = nowMs + firstWaitMs;
  }

  /** One is sent. */
  sent(nowMs: number): void {
    this.#sentMs = nowMs;
    this.#dueMs = nowMs + this.#leaseMs;
  }

  /** One reports. The next wait runs from when it was sent: a slow answer does not shift the others. */
  report(good: boolean, nowMs: number): void {
    this.#successes = good ? this.#successes + 1 : 0;
    this.#waitMs = Math.min(longestWaitMs, this.#waitMs * 2);
    this.#dueMs = Math.max(nowMs, this.#sentMs + this.#waitMs);
  }

  /** One of another process reports. */
  adopt(good: boolean, nowMs: number): void {
    this.sent(nowMs);
    this.report(good, nowMs);
  }
}
