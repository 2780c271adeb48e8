import { isoTime } from '../model/time.ts';

/** Retries of one window: how many were a call's first retry, its second, its third, and further ones. */
export interface HeatRow {
  /** Begin of the window. */
  readonly from: string;
  readonly retries: readonly number[];
}

const windowMs = 300_000;
const windows = 288;
/** Columns: first, second, third, fourth, fifth retry, later ones. */
const columns = 6;

/** Counts retries by their number in windows of five minutes of the wall clock, for a day; it stays as small as it began. */
export class RetryHeat {
  readonly #stamps = new Float64Array(windows).fill(-Infinity);
  readonly #counts = new Uint32Array(windows * columns);

  /** @param number 1 for the first retry of a call */
  count(wallMs: number, number: number): void {
    const stamp = Math.floor(wallMs / windowMs);
    const row = stamp % windows;
    if (this.#stamps[row] !== stamp) {
      this.#stamps[row] = stamp;
      this.#counts.fill(0, row * columns, (row + 1) * columns);
    }
    const cell = row * columns + Math.min(Math.max(number, 1), columns) - 1;
    this.#counts[cell] = (this.#counts[cell] ?? 0) + 1;
  }

  /** The windows of the last day in which there were any, oldest first. */
  rows(wallMs: number): readonly HeatRow[] {
    const oldest = Math.floor(wallMs / windowMs) - windows;
    return [...this.#stamps]
      .map((stamp, row) => ({ stamp, row }))
      .filter(({ stamp }) => stamp > oldest)
      .sort((a, b) => a.stamp - b.stamp)
      .map(({ stamp, row }) => ({
        from: isoTime(stamp * windowMs),
        retries: [...this.#counts.subarray(row * columns, (row + 1) * columns)],
      }));
  }
}
