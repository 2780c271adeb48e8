import type { Timers } from '../../ports/clock.ts';

// A send that takes longer waits for its broker, not for us: others go past it.
const patienceMs = 100;

/**
 * Lets few sends be under way at once over all lanes of a sink, so that records gather where they wait: a send costs the
 * client about 100 us however many records it carries. At low load nobody waits; at high load batches grow by themselves.
 * A send without an answer for 100 ms gives its place away, so an unreachable leader holds up its own partitions only.
 */
export class SendGate {
  readonly #limit: number;
  readonly #timers: Timers;
  readonly #waiting: (() => void)[] = [];
  #underWay = 0;

  /** @param limit sends at once, >= 1 */
  constructor(limit: number, timers: Timers) {
    this.#limit = limit;
    this.#timers = timers;
  }

  /** Resolves when a send may start, with the function that ends it (once; later calls do nothing). */
  async enter(): Promise<() => void> {
    if (this.#underWay >= this.#limit) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#underWay++;
    let inside = true;
    const leave = (): void => {
      if (!inside) return;
      inside = false;
      cancel();
      // The place is handed over, so nobody can slip in between.
      const next = this.#waiting.shift();
      if (next === undefined) this.#underWay--;
      else next();
    };
    const cancel = this.#timers.after(patienceMs, leave);
    return leave;
  }
}
