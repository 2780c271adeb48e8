/** What was seen, and when. */
export interface Look {
  readonly atMs: number;
  readonly value: number;
}

/** Looks at something again and again, until it is stopped. */
export class Looks {
  readonly #seen: Look[] = [];
  readonly #timer: NodeJS.Timeout;

  /** @param look resolves with what is seen; `undefined`: there is nothing to see */
  constructor(everyMs: number, look: () => Promise<number> | undefined) {
    this.#timer = setInterval(() => {
      const atMs = Date.now();
      void look()?.then((value) => this.#seen.push({ atMs, value }));
    }, everyMs);
  }

  /** In the order in which the answers came; `atMs` is when each was asked for. */
  get all(): readonly Look[] {
    return this.#seen;
  }

  between(fromMs: number, toMs: number): number[] {
    return this.#seen.filter(({ atMs }) => atMs >= fromMs && atMs < toMs).map(({ value }) => value);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
