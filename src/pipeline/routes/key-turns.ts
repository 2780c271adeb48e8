/**
 * Gives out items so that of one key only one is out at a time, in the order they came. Items without a key wait for nobody.
 * Memory grows with the items that wait; who adds bounds them.
 */
export class KeyTurns<T> {
  // Keys with an item out, and what waits behind it.
  readonly #behind = new Map<string, T[]>();
  readonly #free: { readonly item: T; readonly key: string | undefined }[] = [];

  /** Adds an item. */
  add(item: T, key: string | undefined): void {
    const waiting = key === undefined ? undefined : this.#behind.get(key);
    if (waiting !== undefined) {
      waiting.push(item);
      return;
    }
    if (key !== undefined) this.#behind.set(key, []);
    this.#free.push({ item, key });
  }

  /** The next item that may go, or `undefined`. */
  next(): { readonly item: T; readonly key: string | undefined } | undefined {
    return this.#free.shift();
  }

  /** The item of this key that was out has ended. */
  ended(key: string | undefined): void {
    if (key === undefined) return;
    const item = this.#behind.get(key)?.shift();
    if (item === undefined) this.#behind.delete(key);
    else this.#free.push({ item, key });
  }
}
