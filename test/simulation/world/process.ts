import type { Clock, Timers } from '../../../src/ports/clock.ts';
import { between, type Name } from '../chance.ts';
import type { Op } from '../plan.ts';

import type { World } from './world.ts';

const wallStartMs = Date.UTC(2026, 0, 1);

/**
 * One life of a replica: its clock, its timers, and the gate of everything it does to the world. A dead one does nothing
 * and hears nothing; a frozen one hears all of it when it thaws.
 */
export class Process implements Clock, Timers {
  readonly replica: number;
  readonly life: number;
  readonly name: string;
  readonly world: World;
  alive = true;
  frozen = false;
  /** Its pipeline was taken down in order: nothing may begin any more. */
  stopped = false;
  /** How far its wall clock is off. */
  wallSkewMs = 0;
  readonly #bootMs: number;
  readonly #counts = new Map<Op, number>();
  readonly #lineUp = new Map<string, number>();
  readonly #paused = new Map<string, Set<string>>();
  #held: (() => void)[] = [];

  constructor(world: World, replica: number, life: number) {
    this.world = world;
    this.replica = replica;
    this.life = life;
    this.name = `r${replica}.${life}`;
    // Monotonic clocks of two processes have nothing to do with each other.
    this.#bootMs = between(0, 1e6, world.seed, 'boot', replica, life);
  }

  now(): number {
    return this.#bootMs + this.world.clock.now();
  }

  wall(): number {
    return wallStartMs + this.world.clock.now() + this.wallSkewMs;
  }

  after(ms: number, task: () => void): () => void {
    let wanted = true;
    const cancel = this.world.clock.in(ms, () => this.#hear(() => wanted && task()));
    return () => {
      wanted = false;
      cancel();
    };
  }

  /** Something reaches the process, unless it is dead by then. */
  deliver(ms: number, task: () => void): void {
    this.world.clock.in(ms, () => this.#hear(task));
  }

  /**
   * What the broker tells: in order, and only when it is asked. A process that was frozen asks with its next heartbeat, up
   * to three seconds after it has thawed.
   */
  deliverFromBroker(ms: number, task: () => void): void {
    const atMs = this.inLine('group', ms);
    this.world.clock.at(atMs, () =>
      this.#hear(() => {
        const heldMs = this.world.clock.now() - atMs;
        if (heldMs === 0) task();
        else
          this.world.clock.at(this.inLine('group', this.draw(0, 3_000, 'heartbeat', heldMs)), () => this.#hear(task));
      }),
    );
  }

  /** When something leaves or arrives that keeps its order with the rest of its line (a connection). */
  inLine(line: string, ms: number): number {
    const atMs = Math.max(this.world.clock.now() + ms, this.#lineUp.get(line) ?? 0);
    this.#lineUp.set(line, atMs);
    return atMs;
  }

  /**
   * The process is about to do something to the world; `false`: it is dead, and nothing happens. Here is where a crash
   * can hit in the middle of a synchronous step.
   */
  enter(op: Op): boolean {
    if (!this.alive) return false;
    const nth = (this.#counts.get(op) ?? 0) + 1;
    this.#counts.set(op, nth);
    const crash = this.world.plan.faults.find(
      (fault) =>
        fault.kind === 'crash-at' &&
        fault.replica === this.replica &&
        this.life === 0 &&
        fault.op === op &&
        fault.nth === nth,
    );
    if (crash?.kind !== 'crash-at') return true;
    const die = (): void => this.world.crash(this, crash.downMs);
    if (crash.when === 'before') {
      this.alive = false;
      this.world.clock.in(0, die);
      return false;
    }
    this.world.clock.in(0, die);
    return true;
  }

  /** Who has told it to pause an upstream. */
  pausedBy(upstream: string): Set<string> {
    let by = this.#paused.get(upstream);
    if (by === undefined) this.#paused.set(upstream, (by = new Set()));
    return by;
  }

  thaw(): void {
    this.frozen = false;
    const held = this.#held;
    this.#held = [];
    for (const task of held) this.#hear(task);
  }

  /** A time that is this process's own draw. */
  draw(low: number, high: number, ...names: readonly Name[]): number {
    return between(low, high, this.world.seed, this.replica, this.life, ...names);
  }

  #hear(task: () => void): void {
    if (!this.alive) return;
    if (this.frozen) this.#held.push(task);
    else task();
  }
}
