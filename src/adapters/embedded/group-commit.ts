import { LarkspurError, messageOf } from '../../model/errors.ts';
import type { Timers } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';

const retryMs = 1000;

/**
 * Gathers the writes of one turn of the event loop into one transaction: a commit costs about as much as ten writes.
 * A transaction that fails (disk full) is tried again each second with all that came since; nobody waits in vain, and
 * nothing is acknowledged before it stands. Memory is bounded by the permits of those who wait. What no waiting mends (the
 * folder is another process's) is told once, and not tried again.
 */
export class GroupCommit {
  readonly #apply: (writes: readonly (() => void)[]) => void;
  readonly #timers: Timers;
  readonly #logger: Logger;
  readonly #onLost: (error: LarkspurError) => void;
  #writes: (() => void)[] = [];
  #waiting: (() => void)[] = [];
  #scheduled = false;
  #failure: LarkspurError | undefined;
  #closed = false;

  /**
   * @param apply runs all writes in one transaction, or throws and leaves nothing of them
   * @param onLost told when `apply` throws a `LarkspurError` that no waiting mends
   */
  constructor(
    apply: (writes: readonly (() => void)[]) => void,
    timers: Timers,
    logger: Logger,
    onLost: (error: LarkspurError) => void,
  ) {
    this.#apply = apply;
    this.#timers = timers;
    this.#logger = logger;
    this.#onLost = onLost;
  }

  /** Whether the last attempt succeeded. */
  get healthy(): boolean {
    return this.#failure === undefined;
  }

  /** Adds a write; `done` runs when it is committed, before all {@link whenDone} called after it. */
  add(write: () => void, done?: () => void): void {
    if (this.#closed) throw new LarkspurError('internal', 'write after the data folder was closed');
    this.#writes.push(write);
    if (done !== undefined) this.#waiting.push(done);
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.#run());
  }

  /** Runs `done` when all writes so far are committed, at once when there are none. */
  whenDone(done: () => void): void {
    if (this.#writes.length === 0) done();
    else this.#waiting.push(done);
  }

  /** Commits what is left. Throws `store_full`, or what `apply` threw of its own, when it cannot be. */
  close(): void {
    this.#closed = true;
    this.#run();
    if (this.#failure !== undefined) throw this.#failure;
  }

  #run(): void {
    this.#scheduled = false;
    if (this.#writes.length === 0) return;
    try {
      this.#apply(this.#writes);
    } catch (error) {
      this.#fail(error);
      return;
    }
    if (this.#failure !== undefined) this.#logger.info({}, 'data folder takes writes again');
    this.#failure = undefined;
    this.#writes = [];
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const done of waiting) done();
  }

  #fail(error: unknown): void {
    const failure =
      error instanceof LarkspurError
        ? error
        : new LarkspurError('store_full', `data folder takes no writes: ${messageOf(error)}`, {
            cure: 'free space on its disk; nothing is lost, writing goes on by itself',
            retryable: true,
            cause: error,
          });
    if (this.#failure === undefined) {
      const { code, cure } = failure;
      this.#logger.error({ code, cure, waiting: this.#waiting.length }, failure.message);
    }
    this.#failure = failure;
    if (this.#closed) return;
    this.#scheduled = true;
    if (failure.retryable) this.#timers.after(retryMs, () => this.#run());
    else this.#onLost(failure);
  }
}
