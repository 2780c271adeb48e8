import type { Random } from '../../ports/random.ts';
import { Breaker } from '../breaker/breaker.ts';
import { breakerDefaults } from '../breaker/options.ts';
import type { BreakerState } from '../breaker/permit.ts';

/** One call at a target. */
export interface Chosen {
  /** Which target. */
  readonly index: number;
  /** The call was answered, or failed. A second ending changes nothing. */
  ended(nowMs: number, failed: boolean): void;
  /** Nobody waits for it any more: that says nothing about the target. */
  dropped(): void;
}

/** How a target is. */
export interface TargetView {
  readonly state: BreakerState;
  readonly inFlight: number;
  /** How long it takes at present: a slower answer counts at once, a faster one little by little. */
  readonly usualMs: number;
}

// A target is one of several: a few failures in a row are enough to go elsewhere for a while.
const targetBreaker = { ...breakerDefaults, consecutiveFailures: 5 };
// How fast a slow time is forgotten: so a target that was slow is tried again now and then.
const halfLifeMs = 5_000;

/**
 * Chooses among equal addresses: of two at random the one with less to do, which is what it has in hand times what a call takes
 * there. Targets whose breaker is open are left out while another one is there. A call that is not answered counts with its age, so
 * that one that hangs is avoided before its first timeout.
 */
export class TargetChoice {
  readonly #targets: readonly Target[];
  readonly #random: Random;

  /** @param count targets, at least 1 */
  constructor(count: number, random: Random) {
    if (!(Number.isInteger(count) && count >= 1)) throw new RangeError(`targets must be an integer >= 1, got ${count}`);
    this.#targets = Array.from({ length: count }, (_, index) => new Target(index, random));
    this.#random = random;
  }

  /** The target of the next call, which is on its way from now on. */
  choose(nowMs: number): Chosen {
    const well = this.#targets.filter((target) => target.callable(nowMs));
    // With none that is well, failing is for the breaker of the whole upstream to notice.
    return this.#lighter(well.length > 0 ? well : this.#targets, nowMs).begin(nowMs);
  }

  views(nowMs: number): TargetView[] {
    return this.#targets.map((target) => target.view(nowMs));
  }

  #lighter(among: readonly Target[], nowMs: number): Target {
    const first = this.#draw(among.length);
    const second = (first + 1 + this.#draw(among.length - 1)) % among.length;
    const [one, other] = [among[first], among[second]] as [Target, Target];
    return one.load(nowMs) <= other.load(nowMs) ? one : other;
  }

  #draw(below: number): number {
    return Math.floor(this.#random.next() * below);
  }
}

class Target {
  readonly #index: number;
  readonly #breaker: Breaker;
  /** Start of each call in hand, the oldest first. */
  readonly #open = new Set<{ readonly sinceMs: number }>();
  #usualMs = 0;
  #atMs = 0;

  constructor(index: number, random: Random) {
    this.#index = index;
    this.#breaker = new Breaker(targetBreaker, random);
  }

  callable(nowMs: number): boolean {
    return this.#breaker.peek(nowMs) === undefined;
  }

  load(nowMs: number): number {
    const [oldest] = this.#open;
    const waitsMs = oldest === undefined ? 0 : nowMs - oldest.sinceMs;
    return (this.#open.size + 1) * Math.max(1, this.#usual(nowMs), waitsMs);
  }

  begin(nowMs: number): Chosen {
    const permit = this.#breaker.acquire(nowMs);
    const call = { sinceMs: nowMs };
    this.#open.add(call);
    return {
      index: this.#index,
      ended: (endMs, failed) => {
        if (!this.#open.delete(call)) return;
        const ms = endMs - nowMs;
        if (permit.kind === 'permit') this.#breaker.record(permit, endMs, failed, ms);
        if (!failed) this.#learn(endMs, ms);
      },
      dropped: () => {
        if (this.#open.delete(call) && permit.kind === 'permit') this.#breaker.release(permit);
      },
    };
  }

  view(nowMs: number): TargetView {
    const { state } = this.#breaker.snapshot(nowMs);
    return { state, inFlight: this.#open.size, usualMs: Math.round(this.#usual(nowMs)) };
  }

  #usual(nowMs: number): number {
    return this.#usualMs * 2 ** (-Math.max(0, nowMs - this.#atMs) / halfLifeMs);
  }

  #learn(nowMs: number, ms: number): void {
    this.#usualMs = Math.max(ms, this.#usual(nowMs));
    this.#atMs = nowMs;
  }
}
