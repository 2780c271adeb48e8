/** Calls that go in one request: who leads it was granted a start, the others ride along. */
interface Wagon<T> {
  readonly leader: T;
  readonly shape: string;
  readonly most: number;
  /** Let through to ride; `true` once it is here. */
  readonly riders: Map<T, boolean>;
}

/**
 * Who goes with whom. A call that is let through by its quota leads a wagon until it departs; others of its shape that
 * would have to wait for quota take its seats. No I/O, no clock.
 */
export class Wagons<T> {
  readonly #open = new Map<string, Set<Wagon<T>>>();
  readonly #of = new Map<T, Wagon<T>>();

  /** Calls that lead or ride. */
  get size(): number {
    return this.#of.size;
  }

  /** A call may start: it leads. @param most calls in one request, its own included */
  lead(leader: T, shape: string, most: number): void {
    const wagon: Wagon<T> = { leader, shape, most, riders: new Map() };
    this.#of.set(leader, wagon);
    const open = this.#open.get(shape);
    if (open === undefined) this.#open.set(shape, new Set([wagon]));
    else open.add(wagon);
  }

  /** Whether one more call of that shape can ride. */
  hasSeat(shape: string): boolean {
    return this.#withSeat(shape) !== undefined;
  }

  /** Takes a seat; the call is on its way to it. `false`: there is none any more. */
  take(rider: T, shape: string): boolean {
    const wagon = this.#withSeat(shape);
    if (wagon === undefined) return false;
    wagon.riders.set(rider, false);
    this.#of.set(rider, wagon);
    return true;
  }

  /** A rider is here. Returns who leads it; `undefined`: its wagon is gone. */
  board(rider: T): T | undefined {
    const wagon = this.#of.get(rider);
    if (wagon?.riders.has(rider) !== true) return undefined;
    wagon.riders.set(rider, true);
    return wagon.leader;
  }

  /** Whether anybody took a seat with this leader. */
  hasRiders(leader: T): boolean {
    const wagon = this.#of.get(leader);
    return wagon?.leader === leader && wagon.riders.size > 0;
  }

  /** Whether all who took a seat with this leader are here. */
  complete(leader: T): boolean {
    const wagon = this.#of.get(leader);
    return wagon === undefined || [...wagon.riders.values()].every((here) => here);
  }

  /** The leader departs with those who are here; the others have missed it. */
  depart(leader: T): T[] {
    const wagon = this.#close(leader);
    return wagon === undefined ? [] : [...wagon.riders].filter(([, here]) => here).map(([rider]) => rider);
  }

  /** A call goes no further: a rider gives up its seat; of a leader, those who are here are returned, for they do not ride. */
  gone(call: T): T[] {
    const wagon = this.#of.get(call);
    if (wagon === undefined) return [];
    if (wagon.leader === call) return this.depart(call);
    wagon.riders.delete(call);
    this.#of.delete(call);
    return [];
  }

  #withSeat(shape: string): Wagon<T> | undefined {
    for (const wagon of this.#open.get(shape) ?? []) if (wagon.riders.size + 1 < wagon.most) return wagon;
    return undefined;
  }

  #close(leader: T): Wagon<T> | undefined {
    const wagon = this.#of.get(leader);
    if (wagon?.leader !== leader) return undefined;
    const open = this.#open.get(wagon.shape);
    open?.delete(wagon);
    if (open?.size === 0) this.#open.delete(wagon.shape);
    this.#of.delete(leader);
    for (const rider of wagon.riders.keys()) this.#of.delete(rider);
    return wagon;
  }
}
