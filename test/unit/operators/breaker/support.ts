import { Breaker, type BreakerOptions, breakerDefaults, type Permit } from '../../../../src/operators/index.ts';
import type { Random } from '../../../../src/ports/random.ts';

/** Chance that always says the same. */
export const always = (value: number): Random => ({ next: () => value });

/** A breaker with chance 0, a time of its own and words for what tests do to it. */
export class Bench {
  readonly breaker: Breaker;
  nowMs = 0;

  constructor(options: Partial<BreakerOptions> = {}, random: Random = always(0)) {
    this.breaker = new Breaker({ ...breakerDefaults, ...options }, random);
  }

  get state(): string {
    return this.breaker.snapshot(this.nowMs).state;
  }

  get untilMs(): number | undefined {
    return this.breaker.peek(this.nowMs);
  }

  /** A permit, or a failing test. */
  permit(inFlight?: number): Permit {
    const answer = this.breaker.acquire(this.nowMs, inFlight);
    if (answer.kind === 'refused') throw new Error(`refused until ${answer.untilMs} at ${this.nowMs}`);
    return answer;
  }

  refused(): boolean {
    return this.breaker.acquire(this.nowMs).kind === 'refused';
  }

  /** So many calls with that ending, at one moment. */
  calls(count: number, failed: boolean, durationMs = 50, inFlight?: number): void {
    for (let i = 0; i < count; i++) this.breaker.record(this.permit(inFlight), this.nowMs, failed, durationMs);
  }

  failures(count: number): void {
    this.calls(count, true);
  }

  successes(count: number): void {
    this.calls(count, false);
  }

  /** Opens it by failures in a row and goes to the end of the time in open. */
  openAndWait(): void {
    while (this.state !== 'open') this.failures(1);
    this.nowMs = this.untilMs ?? this.nowMs;
  }

  /** From open to the start of the ramp. */
  toRamp(): void {
    this.openAndWait();
    this.successes(4);
  }
}
