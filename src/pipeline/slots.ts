import { finalize, map, Observable } from 'rxjs';

import { andThen } from '../operators/interop/and-then.ts';

/** Turns at the door of so many slots: a quarter more, enough that no slot waits for a claim. */
export const placesAtDoor = (slots: number): number => slots + Math.max(4, Math.ceil(slots / 4));

/**
 * Places for attempts: at most `limit` at once here, and a place of the process for each. Who waits holds nothing but its
 * turn; turns are bounded, so the queue is.
 */
export class Slots {
  readonly #limit: () => number;
  readonly #parent: Slots | undefined;
  #inUse = 0;
  // A Set keeps insertion order and forgets in O(1), which an array does not.
  readonly #waiting = new Set<() => void>();

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
    this.#enter();
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#leave();
    };
  }

  /**
   * A place, first come first served: emits a function that gives it back (once; later calls do nothing), then
   * completes. Unsubscribing while waiting leaves the queue; unsubscribing later changes nothing.
   */
  acquire(): Observable<() => void> {
    const parent = this.#parent;
    if (parent === undefined) return this.#acquireOwn();
    // The own place first: a sick upstream's queue then stands at its own door, not at the process's.
    return andThen(this.#acquireOwn(), (releaseOwn) => {
      let passedOn = false;
      return parent.acquire().pipe(
        map((releaseParent) => {
          passedOn = true;
          return () => {
            releaseParent();
            releaseOwn();
          };
        }),
        finalize(() => {
          if (!passedOn) releaseOwn();
        }),
      );
    });
  }

  /** The limit may have risen: who waits goes in, as many as there is room for. */
  widened(): void {
    for (const enter of this.#waiting) {
      if (this.#inUse >= this.limit) return;
      this.#waiting.delete(enter);
      enter();
    }
  }

  #acquireOwn(): Observable<() => void> {
    return new Observable((subscriber) => {
      const enter = (): void => {
        subscriber.next(this.#takeOwn());
        subscriber.complete();
      };
      if (this.#free) {
        enter();
        return undefined;
      }
      this.#waiting.add(enter);
      return () => void this.#waiting.delete(enter);
    });
  }

  get #free(): boolean {
    return this.#inUse < this.limit && this.#waiting.size === 0;
  }

  get #freeHereAndAbove(): boolean {
    return this.#free && (this.#parent === undefined || this.#parent.#freeHereAndAbove);
  }

  #enter(): void {
    this.#inUse++;
    if (this.#parent !== undefined) this.#parent.#enter();
  }

  #leave(): void {
    if (this.#parent !== undefined) this.#parent.#leave();
    this.#leaveOwn();
  }

  #takeOwn(): () => void {
    this.#inUse++;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#leaveOwn();
    };
  }

  #leaveOwn(): void {
    this.#inUse--;
    this.widened();
  }
}
