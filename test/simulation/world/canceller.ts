import { between, type Name } from '../chance.ts';

import type { World } from './world.ts';

/** How long the door lets a cancellation be remembered. */
const rememberedMs = 7 * 86_400_000;
/** Somebody who is told that nobody knows asks again. */
const againMs = 1_000;

/** Somebody who cancels calls as the door does it: the claims' server is told first, then every process. */
export class Canceller {
  /** Calls of which the server was told. */
  readonly asked = new Set<string>();
  readonly #confirmed = new Set<string>();
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  /** Whether the server said that nobody is at the call, and has not lost it since. */
  isConfirmed(id: string): boolean {
    return this.#confirmed.has(id) && !this.#world.claims.forgotten.has(id);
  }

  cancel(id: string, tries = 0): void {
    const { clock, weather, claims } = this.#world;
    const again = (): void => void clock.in(againMs, () => this.cancel(id, tries + 1));
    clock.in(this.#draw(0.2, 4, 'cancels', id, tries), () => {
      if (weather.now('claims-away', clock.now()) !== undefined) {
        again();
        return;
      }
      const found = claims.cancel(id, rememberedMs);
      this.asked.add(id);
      this.#world.note('door', `cancels ${id} ->`, found);
      if (found === 'kept') this.#confirmed.add(id);
      const lossy = weather.now('claims-lossy', clock.now());
      if (lossy !== undefined && this.#draw(0, 1, 'reply', id, tries) < lossy.share / 2) again();
      else if (found !== 'ended') this.#tellAll(id, tries);
    });
  }

  /** Who is dead hears nothing, and no message waits for those who come later; on a bad wire some are lost. */
  #tellAll(id: string, tries: number): void {
    const { replicas, weather, clock } = this.#world;
    const lostShare = weather.now('claims-lossy', clock.now())?.share ?? 0;
    for (const { process, house } of replicas) {
      if (process.draw(0, 1, 'message', id, tries) < lostShare) continue;
      process.deliver(process.draw(1, 40, 'cancelled', id, tries), () => house.cancellations.cancel(id));
    }
  }

  #draw(low: number, high: number, ...names: readonly Name[]): number {
    return between(low, high, this.#world.seed, ...names);
  }
}
