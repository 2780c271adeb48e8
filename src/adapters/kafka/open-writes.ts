interface Generation {
  open: number;
  readonly waiting: Set<() => void>;
}

/** Counts writes on their way, and tells when all that began before a moment are done. Plain and synchronous. */
export class OpenWrites {
  #generations: Generation[] = [];
  #newest: Generation = { open: 0, waiting: new Set() };
  #open = 0;

  constructor() {
    this.#generations.push(this.#newest);
  }

  /** Writes on their way. */
  get open(): number {
    return this.#open;
  }

  /** @returns what `end` takes, once */
  begin(): Generation {
    this.#open += 1;
    this.#newest.open += 1;
    return this.#newest;
  }

  end(generation: Generation): void {
    this.#open -= 1;
    generation.open -= 1;
    while (this.#generations[0]?.open === 0 && this.#generations.length > 1) {
      const done = this.#generations.shift();
      for (const task of done?.waiting ?? []) task();
    }
  }

  /** Calls `task` once all writes begun so far have ended: now, or later. Returns a function that cancels it. */
  whenDone(task: () => void): () => void {
    if (this.#open === 0) {
      task();
      return () => undefined;
    }
    const { waiting } = this.#newest;
    waiting.add(task);
    this.#newest = { open: 0, waiting: new Set() };
    this.#generations.push(this.#newest);
    return () => void waiting.delete(task);
  }
}
