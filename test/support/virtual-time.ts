import type { Clock, Timers } from '../../src/ports/clock.ts';
import type { Random } from '../../src/ports/random.ts';

interface Due {
  readonly atMs: number;
  readonly seq: number;
  task: (() => void) | undefined;
}

/**
 * Clock and timers that move only when told to. Tasks run in the order of (time, creation). `advance` is synchronous;
 * `advanceAsync` lets micro-tasks run before each next task, for code that lifts promises.
 */
export class VirtualTime implements Clock, Timers {
  #nowMs = 0;
  #seq = 0;
  readonly #due: Due[] = [];
  readonly wallStartMs: number;

  constructor(wallStartMs = Date.UTC(2026, 0, 1)) {
    this.wallStartMs = wallStartMs;
  }

  now(): number {
    return this.#nowMs;
  }

  wall(): number {
    return this.wallStartMs + this.#nowMs;
  }

  after(ms: number, task: () => void): () => void {
    const due: Due = { atMs: this.#nowMs + Math.max(0, ms), seq: this.#seq++, task };
    this.#due.push(due);
    return () => {
      due.task = undefined;
    };
  }

  /** Timers that are armed and not cancelled. */
  get pending(): number {
    return this.#due.filter((due) => due.task !== undefined).length;
  }

  /** Cancels everything that is armed, as the end of a process does. */
  clear(): void {
    this.#due.length = 0;
  }

  advance(ms: number): void {
    const untilMs = this.#nowMs + ms;
    for (let due = this.#pop(untilMs); due !== undefined; due = this.#pop(untilMs)) due();
    this.#nowMs = untilMs;
  }

  async advanceAsync(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    await settleMicrotasks();
    for (let due = this.#pop(untilMs); due !== undefined; due = this.#pop(untilMs)) {
      due();
      await settleMicrotasks();
    }
    this.#nowMs = untilMs;
  }

  #pop(untilMs: number): (() => void) | undefined {
    let best = -1;
    for (const [index, due] of this.#due.entries()) {
      if (due.atMs > untilMs) continue;
      const first = this.#due[best];
      if (first === undefined || due.atMs < first.atMs || (due.atMs === first.atMs && due.seq < first.seq))
        best = index;
    }
    if (best < 0) return undefined;
    const [due] = this.#due.splice(best, 1);
    if (due === undefined) return undefined;
    this.#nowMs = Math.max(this.#nowMs, due.atMs);
    return due.task ?? (() => undefined);
  }
}

async function settleMicrotasks(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}

/** Mulberry32: small, seeded, good enough to shake a schedule. A scripted prefix comes first. */
export function seededRandom(seed: number, scripted: readonly number[] = []): Random {
  let state = seed >>> 0;
  let at = 0;
  return {
    next() {
      const given = scripted[at++];
      if (given !== undefined) return given;
      state = (state + 0x6d2b79f5) >>> 0;
      let t = state;
      t = Math.imul(t ^ (t >>> 15), t | 1);
      t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
      return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
    },
  };
}
