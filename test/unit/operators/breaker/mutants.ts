import { Breaker, type BreakerOptions, breakerDefaults, type Permit } from '../../../../src/operators/index.ts';
import type { Random } from '../../../../src/ports/random.ts';

import { always } from './support.ts';

/** Makes a breaker; without chance unless one is given. */
export type Make = (random?: Random) => Breaker;

/** The real one with other numbers. */
export const withOptions =
  (changed: Partial<BreakerOptions>): Make =>
  (random = always(0)) =>
    new Breaker({ ...breakerDefaults, openJitter: 0, ...changed }, random);
/** The real one. */
export const real = withOptions({});

/** Takes every result for one of the present generation. */
export class ForgetsGenerations extends Breaker {
  override record(permit: Permit, nowMs: number, failed: boolean, ms: number): boolean {
    const { generation } = this.snapshot(nowMs);
    return super.record({ ...permit, generation }, nowMs, failed, ms);
  }
}

/** Believes that time went on whichever way the clock was set. */
export class TakesAnyStepForTime extends Breaker {
  override acquire(nowMs: number): ReturnType<Breaker['acquire']> {
    return super.acquire(Math.abs(nowMs));
  }

  override record(permit: Permit, nowMs: number, failed: boolean, ms: number): boolean {
    return super.record(permit, Math.abs(nowMs), failed, ms);
  }
}

/** Takes a call that says nothing about health for a failure. */
export class CountsNeutralEndings extends Breaker {
  #nowMs = 0;

  override acquire(nowMs: number): ReturnType<Breaker['acquire']> {
    this.#nowMs = nowMs;
    return super.acquire(nowMs);
  }

  override release(permit: Permit): void {
    this.record(permit, this.#nowMs, true, 0);
  }
}

/** Makes one of that kind with the usual numbers. */
export const of =
  (Kind: typeof Breaker): Make =>
  (random = always(0)) =>
    new Kind({ ...breakerDefaults, openJitter: 0 }, random);
