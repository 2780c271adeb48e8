import { Listeners } from './listeners.ts';

/**
 * How many more items a later stage takes from an earlier one: the pull signal that RxJS lacks.
 *
 * The later stage calls `request`, the earlier one `take` once per item it hands over. Requests add up and are kept until
 * used, also when nobody is attached yet, so none is lost. All of it is synchronous: `request` returns after the attached
 * stage has handed over what it had. A stage between the two that swallows an item gives its place back with `request(1)`.
 */
export class Demand {
  readonly #listeners = new Listeners();
  #outstanding = 0;

  /** Items requested and not yet taken. */
  get outstanding(): number {
    return this.#outstanding;
  }

  /**
   * @param n so many items more; an integer >= 0, or `Infinity` for "no bound"
   * @throws RangeError for anything else
   */
  request(n: number): void {
    if (!(n >= 0 && (Number.isInteger(n) || n === Infinity))) {
      throw new RangeError(`demand.request must be an integer >= 0 or Infinity, got ${n}`);
    }
    if (n === 0) return;
    this.#outstanding += n;
    this.#listeners.notify();
  }

  /** Uses one up; `false` when nothing is requested. */
  take(): boolean {
    if (this.#outstanding <= 0) return false;
    this.#outstanding -= 1;
    return true;
  }

  /** Calls `listener` after every request. Returns a function that detaches it. */
  attach(listener: () => void): () => void {
    return this.#listeners.attach(listener);
  }
}
