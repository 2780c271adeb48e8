import type { Place } from './lane.ts';

/**
 * One item on its way; its lane waits for it. A turn is ended once, by `again` or `done`; a further end is ignored, and so
 * is every end after the item's owner was dropped.
 */
export interface Turn<T> {
  readonly item: T;
  /**
   * Back to the front of its lane, which sleeps until then (a time that has passed: offered again at once).
   * @param appointed it has a place at that time: it goes before all others then, and is not charged once more
   * @param yields it waits for one that stands before it: where such a one came meanwhile that one is offered at once
   */
  again(notBeforeMs: number, appointed?: boolean, yields?: boolean): void;
  /** To another lane, where it waits by its order; the one that it was in goes on. */
  join(place: Place): void;
  /** The lane goes on with its next item. */
  done(): void;
}
