/** How much a counter has grown within the last `windowMs`. Fed from time to time with its total; keeps one total per feed. */
export class Increase {
  readonly #windowMs: number;
  readonly #kept: { readonly atMs: number; readonly total: number }[] = [];

  /** @param windowMs more than 0 */
  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  /** The counter stands at `total` now. Times never go back; a total that does (a restart) begins anew. */
  add(nowMs: number, total: number): void {
    const newest = this.#kept.at(-1);
    if (newest !== undefined && total < newest.total) this.#kept.length = 0;
    this.#kept.push({ atMs: nowMs, total });
    // The one at or before the beginning of the window is what it is counted from.
    while ((this.#kept[1]?.atMs ?? Infinity) <= nowMs - this.#windowMs) this.#kept.shift();
  }

  /** The growth as of the newest feed; 0 before the second one. */
  get value(): number {
    return (this.#kept.at(-1)?.total ?? 0) - (this.#kept[0]?.total ?? 0);
  }
}
