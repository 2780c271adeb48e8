import type { FairLanes } from '../operators/lanes/fair-lanes.ts';

/** Room in which the calls of a paused upstream wait. */
export const pausedRoom = (destination: string): string => `paused:${destination}`;

/** Which upstreams are paused, and by whom: each of them has to let it go on. Calls under way end. */
export class Pauses {
  readonly #lanes: () => Pick<FairLanes<unknown>, 'wake'>;
  readonly #by = new Map<string, Set<string>>();

  constructor(lanes: () => Pick<FairLanes<unknown>, 'wake'>) {
    this.#lanes = lanes;
  }

  /** Who holds an upstream; empty: it is not paused. */
  heldBy(upstream: string): readonly string[] {
    return [...(this.#by.get(upstream) ?? [])];
  }

  /** Whether calls to it wait. */
  has(upstream: string): boolean {
    return this.#by.has(upstream);
  }

  pause(upstream: string, by: string): void {
    const holders = this.#by.get(upstream);
    if (holders === undefined) this.#by.set(upstream, new Set([by]));
    else holders.add(by);
  }

  /** @param by `undefined`: for all who hold it */
  resume(upstream: string, by?: string): void {
    const holders = this.#by.get(upstream);
    if (holders === undefined) return;
    if (by !== undefined) holders.delete(by);
    if (by !== undefined && holders.size > 0) return;
    this.#by.delete(upstream);
    this.#lanes().wake(pausedRoom(upstream));
  }
}
