/**
 * Goes round the entries of a map, on from where it stopped; what was added meanwhile comes at the end of the round. To start
 * anew each time and delete in front would be slow: the engine searches for the first entry past all that was deleted before it,
 * which with 10,000 entries took 5 us.
 */
export class Walk<K, V> {
  readonly #map: ReadonlyMap<K, V>;
  #at: Iterator<[K, V]>;

  constructor(map: ReadonlyMap<K, V>) {
    this.#map = map;
    this.#at = map.entries();
  }

  /** The next entry; `undefined` when there is none at all. */
  next(): [K, V] | undefined {
    const next = this.#at.next();
    if (next.done !== true) return next.value;
    this.#at = this.#map.entries();
    const first = this.#at.next();
    return first.done === true ? undefined : first.value;
  }
}
