/** Callbacks without arguments, told in the order they were attached. For wake-ups between stages; carries no data. */
export class Listeners {
  readonly #all = new Set<() => void>();

  /** Returns a function that detaches it again; detaching twice is harmless. */
  attach(listener: () => void): () => void {
    this.#all.add(listener);
    return () => {
      this.#all.delete(listener);
    };
  }

  notify(): void {
    for (const listener of this.#all) listener();
  }
}
