import type { Observable, Observer } from 'rxjs';

import { light } from '../operators/interop/light.ts';

/** Turns at the door of so many slots: a quarter more, enough that no slot waits for a claim. */
export const placesAtDoor = (slots: number): number => slots + Math.max(4, Math.ceil(slots / 4));

/** One who asks for a place, and what it has of it so far. */
interface Entry {
  readonly observer: Observer<() => void>;
  readonly taken: Slots[];
  waitsAt: Slots | undefined;
  over: boolean;
}

/**
 * Places for attempts: at most `limit` at once here, and a place of the process for each. Who waits holds nothing but its
 * turn; turns are bounded, so the queue is.
 */
export class Slots {
  readonly #limit: () => number;
  readonly #parent: Slots | undefined;
  #inUse = 0;
  // A Set keeps insertion order and forgets in O(1), which an array does not.
  readonly #waiting = new Set<Entry>();

  /** @param limit an integer >= 1; a function is asked each time, for a limit that moves */
  constructor(limit: number | (() => number), parent?: Slots) {
    this.#limit = typeof limit === 'number' ? () => limit : limit;
    if (typeof limit === 'number' && !(Number.isInteger(limit) && limit >= 1)) {
      throw new RangeError(`slots must be an integer >= 1, got ${limit}`);
    }
    this.#parent = parent;
  }

  /** Places at present. Where they became fewer, more may be taken for a while. */
  get limit(): number {
    return this.#limit();
  }

  /** Places taken at present. */
  get inUse(): number {
    return this.#inUse;
  }

  /** Attempts that wait for a place. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** A place at once, as a function that gives it back (once); `undefined` when others wait or all are taken. */
  tryAcquire(): (() => void) | undefined {
    if (!this.#freeHereAndAbove) return undefined;
    const taken: Slots[] = [];
    this.#take(taken);
    return () => Slots.#leave(taken);
  }

  /**
   * A place, first come first served: emits a function that gives it back (once; later calls do nothing), then
   * completes. Unsubscribing while waiting leaves the queue; unsubscribing later changes nothing.
   */
  acquire(): Observable<() => void> {
    return light((observer) => {
      const entry: Entry = { observer, taken: [], waitsAt: undefined, over: false };
      this.#admit(entry);
      return { unsubscribe: () => Slots.#giveUp(entry) };
    });
  }

  /** The limit may have risen: who waits goes in, as many as there is room for. */
  widened(): void {
    for (const entry of this.#waiting) {
      if (this.#inUse >= this.limit) return;
      this.#waiting.delete(entry);
      this.#enter(entry);
    }
  }

  #admit(entry: Entry): void {
    if (this.#free) {
      this.#enter(entry);
      return;
    }
    entry.waitsAt = this;
    this.#waiting.add(entry);
  }

  /** The own place first: a sick upstream's queue then stands at its own door, not at the process's. */
  #enter(entry: Entry): void {
    entry.waitsAt = undefined;
    this.#takeHere(entry.taken);
    if (this.#parent !== undefined) {
      this.#parent.#admit(entry);
      return;
    }
    entry.over = true;
    entry.observer.next(() => Slots.#leave(entry.taken));
    entry.observer.complete();
  }

  get #free(): boolean {
    return this.#inUse < this.limit && this.#waiting.size === 0;
  }

  get #freeHereAndAbove(): boolean {
    return this.#free && (this.#parent === undefined || this.#parent.#freeHereAndAbove);
  }

  #take(taken: Slots[]): void {
    this.#takeHere(taken);
    if (this.#parent !== undefined) this.#parent.#take(taken);
  }

  #takeHere(taken: Slots[]): void {
    this.#inUse++;
    taken.push(this);
  }

  static #giveUp(entry: Entry): void {
    if (entry.over) return;
    entry.over = true;
    const { waitsAt } = entry;
    if (waitsAt !== undefined) waitsAt.#waiting.delete(entry);
    Slots.#leave(entry.taken);
  }

  /** Gives places back, the last taken first; there are none when it is called again. */
  static #leave(taken: Slots[]): void {
    for (let at = taken.pop(); at !== undefined; at = taken.pop()) {
      at.#inUse--;
      at.widened();
    }
  }
}
