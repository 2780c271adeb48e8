import { type HeapEntry, NotBeforeHeap } from '../lanes/not-before-heap.ts';

import { type Linked, Rotation } from './rotation.ts';

/** A ring as {@link Serving} sees it; it alone touches `alarm`. */
export interface Served<S> extends Linked<S> {
  /** Set while the head is not due. */
  alarm: HeapEntry<S> | undefined;
}

/** Which rings have an item to serve: those whose head is due take turns, the others sleep until it is. */
export class Serving<S extends Served<S>> {
  readonly #dueMs: (ring: S) => number | undefined;
  readonly #inTurn = new Rotation<S>();
  readonly #asleep = new NotBeforeHeap<S>();

  /** @param dueMs when the head of a ring is due, 0 for at once; `undefined` for an empty ring */
  constructor(dueMs: (ring: S) => number | undefined) {
    this.#dueMs = dueMs;
  }

  /** The ring whose turn it is. */
  get first(): S | undefined {
    return this.#inTurn.first;
  }

  /** When the next sleeping ring is due. */
  get nextDueMs(): number | undefined {
    return this.#asleep.earliestMs;
  }

  /** A ring that is nowhere goes where its head belongs. Its time is looked at in {@link wake}, so no clock is asked here. */
  place(ring: S): void {
    const dueMs = this.#dueMs(ring);
    if (dueMs === undefined) return;
    if (dueMs <= 0) this.#inTurn.add(ring);
    else ring.alarm = this.#asleep.add(dueMs, ring);
  }

  /** Its head was taken: the turn goes on. */
  served(ring: S): void {
    if ((this.#dueMs(ring) ?? Infinity) <= 0) {
      this.#inTurn.advance();
      return;
    }
    this.remove(ring);
    this.place(ring);
  }

  remove(ring: S): void {
    if (ring.alarm !== undefined) this.#asleep.cancel(ring.alarm);
    ring.alarm = undefined;
    this.#inTurn.remove(ring);
  }

  /** The next ring whose time has come, now in turn; `undefined` when there is none. */
  wake(nowMs: number): S | undefined {
    const ring = this.#asleep.popDue(nowMs);
    if (ring === undefined) return undefined;
    ring.alarm = undefined;
    this.#inTurn.add(ring);
    return ring;
  }
}
