import { messageOf } from '../../model/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';

import { toLarkspurError } from './errors.ts';

// Who writes at all is refused more often than this by a server that has become a replica.
const quietMs = 5_000;

/** Tells in the log once per outage that Redis is away, why, and when it is back. */
export class AwayLog {
  readonly #logger: Logger;
  readonly #clock: Clock;
  #away = false;
  /** Of this time that it is away, why was told. */
  #whyTold = false;
  /**
   * Refused by a server that has become a replica: until one of it is done, and nothing was refused for a while, a new connection is no
   * better. For a replica answers reads, also of a script that writes at other times.
   */
  readonly #refused = new Set<string>();
  #refusedMs = -Infinity;

  constructor(logger: Logger, clock: Clock) {
    this.#logger = logger;
    this.#clock = clock;
  }

  /** There is no connection, or it is of no use. @param cause why; a connection that closes does not say, the next attempt does */
  left(cause?: unknown): void {
    if (this.#away && (this.#whyTold || cause === undefined)) return;
    const message = this.#away ? 'why Redis is away' : 'Redis is away; what needs it waits';
    this.#away = true;
    this.#whyTold = cause !== undefined;
    const why = cause === undefined ? 'connection closed' : messageOf(cause);
    this.#logger.warn({ why, cure: toLarkspurError(cause).cure }, message);
  }

  /** There is a connection. */
  connected(): void {
    if (this.#isQuiet()) this.#back();
  }

  /** A command was carried out. */
  done(name: string): void {
    if (this.#refused.has(name) && this.#isQuiet()) this.#back();
  }

  /** A command was refused by a server that has become a replica. */
  refused(name: string): void {
    this.#refused.add(name);
    this.#refusedMs = this.#clock.now();
  }

  /** Whether no replica has refused anything for a while. */
  #isQuiet(): boolean {
    return this.#clock.now() - this.#refusedMs >= quietMs;
  }

  #back(): void {
    if (this.#away) this.#logger.info({}, 'Redis is back');
    this.#away = this.#whyTold = false;
    this.#refused.clear();
  }
}
