import type { LimitKey } from '../../ports/profile.ts';

import { type HandParts, StartsInHand } from './starts-in-hand.ts';
import type { Grant } from './taken.ts';

/** The starts that a process holds, by the buckets that they draw from. */
export class Hands {
  readonly #max: number;
  readonly #parts: HandParts;
  readonly #byName = new Map<string, StartsInHand>();

  /** @param max hands kept without need */
  constructor(max: number, parts: HandParts) {
    this.#max = max;
    this.#parts = parts;
  }

  of(limits: readonly LimitKey[]): StartsInHand {
    const name = nameOf(limits);
    let hand = this.#byName.get(name);
    if (hand === undefined) this.#byName.set(name, (hand = new StartsInHand(limits, this.#parts)));
    return hand;
  }

  /** When the next start may be made by who has an appointment, or by who has none; `undefined`: none is in hand. */
  nextMs(limits: readonly LimitKey[], appointed: boolean): number | undefined {
    return this.#byName.get(nameOf(limits))?.nextMs(appointed);
  }

  /** Makes a start whose time has come. */
  take(limits: readonly LimitKey[], nowMs: number, appointed: boolean): Grant | undefined {
    const hand = this.#byName.get(nameOf(limits));
    const grant = hand?.take(nowMs, appointed);
    this.#tidy(hand);
    return grant;
  }

  promise(limits: readonly LimitKey[]): void {
    this.of(limits).promised += 1;
  }

  unpromise(limits: readonly LimitKey[]): void {
    const hand = this.#byName.get(nameOf(limits));
    if (hand === undefined) return;
    hand.promised = Math.max(0, hand.promised - 1);
    this.#tidy(hand);
  }

  /** Starts in hand that draw from a bucket. */
  sizeOf(key: string): number {
    let size = 0;
    for (const hand of this.#with(key)) size += hand.size;
    return size;
  }

  /** Gives back all that draw from a bucket. */
  giveBack(key: string): void {
    for (const hand of this.#with(key)) hand.drop(true);
  }

  /** Forgets all, where nobody can be told. */
  forgetAll(): void {
    for (const hand of this.#byName.values()) hand.drop(false);
  }

  *#with(key: string): Iterable<StartsInHand> {
    for (const hand of this.#byName.values()) {
      if (hand.size > 0 && hand.limits.some((limit) => limit.key === key)) yield hand;
    }
  }

  #tidy(hand: StartsInHand | undefined): void {
    // What was learned of the need for starts of a single bucket is worth keeping, while there are not too many of them.
    if (hand?.idle !== true || (hand.single && this.#byName.size <= this.#max)) return;
    this.#byName.delete(nameOf(hand.limits));
  }
}

/** Calls that draw from the same buckets share their starts. */
function nameOf(limits: readonly LimitKey[]): string {
  const [first] = limits;
  return limits.length === 1 && first !== undefined ? first.key : limits.map(({ key }) => key).join('\n');
}
