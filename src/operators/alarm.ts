import type { Clock, Timers } from '../ports/clock.ts';

/** One timer for the earliest of many times. It may ring early or without need: who is woken looks again and sets it anew. */
export class Alarm {
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #wake: () => void;
  #set: { readonly atMs: number; readonly cancel: () => void } | undefined;

  constructor(clock: Clock, timers: Timers, wake: () => void) {
    this.#clock = clock;
    this.#timers = timers;
    this.#wake = wake;
  }

  /** Rings at that time or before; a later one than is set already, or `undefined`, changes nothing. */
  by(atMs: number | undefined): void {
    if (atMs === undefined || (this.#set !== undefined && this.#set.atMs <= atMs)) return;
    this.#set?.cancel();
    const cancel = this.#timers.after(Math.max(0, atMs - this.#clock.now()), () => {
      this.#set = undefined;
      this.#wake();
    });
    this.#set = { atMs, cancel };
  }

  cancel(): void {
    this.#set?.cancel();
    this.#set = undefined;
  }
}
