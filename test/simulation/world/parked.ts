import { Observable } from 'rxjs';

import type { ParkedCall, ParkedRegister, ParkedScope } from '../../../src/ports/parked-register.ts';

import type { Process } from './process.ts';

interface Partition {
  fence: number | undefined;
  readonly calls: Map<number, ParkedCall>;
}

/** The register of calls that wait outside, as Redis keeps it. */
export class ParkedServer {
  readonly #partitions = new Map<string, Partition>();

  open(name: string): { readonly fence: number; readonly calls: readonly ParkedCall[] } {
    const partition = this.#of(name);
    partition.fence = (partition.fence ?? 0) + 1;
    return { fence: partition.fence, calls: [...partition.calls.values()] };
  }

  /** One that has lost its fence takes the next one for the owner's. */
  change({ partition: name, fence }: ParkedScope, change: (calls: Map<number, ParkedCall>) => void): boolean {
    const partition = this.#of(name);
    partition.fence ??= fence;
    if (partition.fence !== fence) return false;
    change(partition.calls);
    return true;
  }

  loseAll(): void {
    this.#partitions.clear();
  }

  #of(name: string): Partition {
    let partition = this.#partitions.get(name);
    if (partition === undefined) this.#partitions.set(name, (partition = { fence: undefined, calls: new Map() }));
    return partition;
  }
}

/** The register's client of one process: in order, and again while the server is away or a reply is lost. */
export class Parked implements ParkedRegister {
  readonly #process: Process;
  #steps = 0;

  constructor(process: Process) {
    this.#process = process;
  }

  open(partition: string): ReturnType<ParkedRegister['open']> {
    return this.#step(`open ${partition}`, () => this.#server.open(partition));
  }

  put(scope: ParkedScope, call: ParkedCall): Observable<boolean> {
    return this.#step(`put ${scope.partition}/${call.offset} of ${call.key}`, () =>
      this.#server.change(scope, (calls) => calls.set(call.offset, call)),
    );
  }

  remove(scope: ParkedScope, offset: number): Observable<boolean> {
    return this.#step(`remove ${scope.partition}/${offset}`, () =>
      this.#server.change(scope, (calls) => calls.delete(offset)),
    );
  }

  ready(): boolean {
    const { world } = this.#process;
    return world.weather.now('claims-away', world.clock.now()) === undefined;
  }

  get #server(): ParkedServer {
    return this.#process.world.parked;
  }

  #step<A>(what: string, apply: () => A): Observable<A> {
    return new Observable<A>((subscriber) => {
      if (!this.#process.enter('park')) return;
      this.#travel(what, this.#steps++, 0, apply, (answer) => {
        subscriber.next(answer);
        subscriber.complete();
      });
    });
  }

  #travel<A>(what: string, nth: number, tries: number, apply: () => A, answered: (answer: A) => void): void {
    const process = this.#process;
    const { world } = process;
    const again = (): void => process.deliver(250, () => this.#travel(what, nth, tries + 1, apply, answered));
    world.clock.at(process.inLine('parked', process.draw(0.2, 4, 'park', nth, tries)), () => {
      if (world.weather.now('claims-away', world.clock.now()) !== undefined) {
        again();
        return;
      }
      const answer = apply();
      world.note(process.name, `${what} ->`, typeof answer === 'boolean' ? String(answer) : 'open');
      const lossy = world.weather.now('claims-lossy', world.clock.now());
      if (lossy !== undefined && process.draw(0, 1, 'parked-reply', nth, tries) < lossy.share) again();
      else process.deliver(process.draw(0.2, 4, 'parked', nth, tries), () => answered(answer));
    });
  }
}
