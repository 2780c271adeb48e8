import type { Clock } from '../ports/clock.ts';

/**
 * The clock of the broker, by which waits outside are kept: every worker goes by the same one, whatever its own says. Each
 * write that the broker dates tells where it was between our sending and its answer (Cristian 1989); the estimate moves only
 * as far as that interval makes it. Until the first answer it is our own. Steps of our own wall clock do not move it.
 */
export class BrokerClock implements Clock {
  readonly #clock: Clock;
  /** What the broker's clock shows where our monotonic one shows 0. */
  #originMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now();
  }

  wall(): number {
    return this.originMs + this.#clock.now();
  }

  /** Whether the broker has told; before that it is our own. */
  get isKnown(): boolean {
    return this.#originMs !== undefined;
  }

  /** What it shows where our monotonic one shows 0: has it moved, what was reckoned by it before is wrong by as much. */
  get originMs(): number {
    return this.#originMs ?? this.#clock.wall() - this.#clock.now();
  }

  /** A write was dated by the broker, whole milliseconds. @param sentMs monotonic: when it left here */
  dated(storedAtMs: number, sentMs: number): void {
    const leastMs = storedAtMs - this.#clock.now();
    const mostMs = Math.max(leastMs, storedAtMs + 1 - sentMs);
    this.#originMs = Math.min(Math.max(this.originMs, leastMs), mostMs);
  }
}
