import { concatWith, defer, Subscription } from 'rxjs';

import { dispatchPipeline } from '../../../src/pipeline/dispatch-pipeline.ts';
import type { House } from '../../../src/pipeline/house.ts';
import { ScriptedTokens } from '../../support/scripted-tokens.ts';

import { buildHouse } from './build-house.ts';
import { Member } from './member.ts';
import { Process } from './process.ts';
import type { World } from './world.ts';

/** The broker gives a silent member up after this. */
const sessionMs = 6_000;
const drainMs = 5_000;

/** One life of a replica: the real house in a simulated process. */
export class Replica {
  readonly process: Process;
  readonly member: Member;
  readonly house: House;
  readonly tokens = new ScriptedTokens();
  /** Permits that breakers gave and nobody has ended. */
  readonly openPermits: () => number;
  readonly #world: World;
  readonly #running = new Subscription();
  #stopping = false;

  constructor(world: World, index: number, life: number) {
    this.#world = world;
    this.process = new Process(world, index, life);
    this.member = new Member(this.process);
    const built = buildHouse(world, this.process, this.member, this.tokens);
    this.house = built.house;
    this.openPermits = built.openPermits;
  }

  start(): void {
    const { house } = this;
    const failed = (error: unknown): void => {
      if (this.process.alive)
        this.#world.audit.fail('G1', `the pipeline of ${this.process.name} failed: ${String(error)}`);
    };
    this.#world.note(this.process.name, 'starts');
    this.#running.add(dispatchPipeline(house)(house.source.event$).subscribe({ error: failed }));
    this.#running.add(house.returnClaims$.subscribe({ error: failed }));
    this.#renewLater();
    this.process.deliver(this.process.draw(1, 500, 'joins'), () => this.#world.group.join(this.member));
  }

  /** SIGKILL: what is in memory is gone, what has left goes on. */
  die(): void {
    this.process.alive = false;
    this.#world.note(this.process.name, 'is killed');
    this.#world.clock.in(0, () => this.#running.unsubscribe());
    this.#world.clock.in(this.process.draw(1_000, sessionMs, 'session'), () => this.#world.group.leave(this.member));
  }

  /** SIGSTOP, for so long. */
  freeze(forMs: number): void {
    const { clock, group } = this.#world;
    this.process.frozen = true;
    this.#world.note(this.process.name, 'is frozen');
    clock.in(sessionMs, () => {
      if (this.process.frozen) group.leave(this.member);
    });
    clock.in(forMs, () => {
      if (!this.process.alive) return;
      this.#world.note(this.process.name, 'thaws');
      this.process.thaw();
      this.process.deliver(this.process.draw(300, 2_000, 'rejoins'), () => {
        if (!group.has(this.member)) group.join(this.member);
      });
    });
  }

  /** SIGTERM, as the worker's runtime does it; `gone` when the process has ended. */
  stop(gone: () => void): void {
    if (this.#stopping) return;
    this.#stopping = true;
    this.#world.note(this.process.name, 'is told to stop');
    let leaving = false;
    const leave = (): void => {
      if (leaving) return;
      leaving = true;
      this.process.deliver(0, () => {
        this.#world.note(this.process.name, 'has stopped');
        this.process.stopped = true;
        this.#running.unsubscribe();
        this.process.alive = false;
        this.#world.group.leave(this.member);
        gone();
      });
    };
    const { house } = this;
    this.process.after(drainMs, leave);
    const inOrder$ = house.drain().pipe(
      concatWith(
        house.sink.flush(),
        defer(() => house.finish()),
      ),
    );
    inOrder$.subscribe({ error: leave, complete: leave });
  }

  #renewLater(): void {
    const { keeper } = this.house;
    this.process.after(keeper.renewEveryMs, () => {
      this.#running.add(keeper.renew().subscribe());
      this.#renewLater();
    });
  }
}
