import { seededRandom } from '../support/virtual-time.ts';

/** Faults come within this time; what they last is on top. */
export const faultSpanMs = 40_000;

/** Draws for one plan, in order. */
export class Draws {
  readonly #next: () => number;

  constructor(seed: number) {
    const random = seededRandom(Math.imul(seed + 1, 0x9e3779b1));
    this.#next = () => random.next();
  }

  between(low: number, high: number): number {
    return low + this.#next() * (high - low);
  }

  whole(low: number, high: number): number {
    return Math.floor(this.between(low, high + 1));
  }

  chance(share: number): boolean {
    return this.#next() < share;
  }

  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#next() * from.length)]!;
  }
}
