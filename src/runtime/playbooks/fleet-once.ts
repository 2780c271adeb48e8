import { catchError, firstValueFrom, map, merge, of, take } from 'rxjs';

import { LarkspurError } from '../../model/errors.ts';
import { after } from '../../operators/interop/after.ts';
import type { ClaimStore } from '../../ports/claim-store.ts';
import type { Timers } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';

const leaseMs = 120_000;
const patienceMs = 3_000;
const shortestMemoryMs = 60_000;
// Well before what the other one did may be forgotten.
const askAgainMs = shortestMemoryMs / 2;

/** What came of a step that one process of the fleet takes. */
export type Taken<T> =
  | { readonly by: 'us'; readonly result: T }
  /** @property waitMs it is at it, or has failed: to be asked for again then; `undefined`: it is not to be done again */
  | { readonly by: 'another worker'; readonly waitMs: number | undefined };

/** Whether what failed may have had its effect all the same. */
export function mayHaveActed(error: unknown): boolean {
  return error instanceof LarkspurError && error.code === 'no_answer';
}

/**
 * Lets one process of the fleet do something that all of them see a reason for. A store of claims that does not answer stops
 * nobody: told twice is better than not at all.
 */
export class FleetOnce {
  readonly #claims: Pick<ClaimStore, 'claim' | 'finish'>;
  readonly #timers: Timers;
  /** Tells this process from the others. */
  readonly #who: string;

  constructor(claims: Pick<ClaimStore, 'claim' | 'finish'>, timers: Timers, random: Random) {
    this.#claims = claims;
    this.#timers = timers;
    this.#who = Math.floor(random.next() * Number.MAX_SAFE_INTEGER).toString(36);
  }

  /**
   * Rejects as the work does; then another one may try, unless it may have acted.
   * @param memoryMs another process that comes so soon after is too late. Who did it is not: it sees a new reason
   */
  async take<T>(id: string, memoryMs: number, work: () => Promise<T>): Promise<Taken<T>> {
    const ttlMs = Math.max(memoryMs, shortestMemoryMs);
    const late$ = after(this.#timers, patienceMs).pipe(map(() => undefined));
    const asked$ = this.#claims.claim({ id, origin: this.#who, leaseMs, ttlMs, sent: false });
    const reply = await firstValueFrom(merge(asked$, late$).pipe(take(1)), { defaultValue: undefined });
    if (reply !== undefined && reply.kind !== 'granted') {
      if ('origin' in reply && reply.origin === this.#who) return { by: 'us', result: await work() };
      return { by: 'another worker', waitMs: 'waitMs' in reply ? Math.min(reply.waitMs, askAgainMs) : undefined };
    }
    const end = (state: 'PROCESSED' | 'FAILED' | 'DEAD'): void => {
      if (reply === undefined) return;
      const claim = { id, fence: reply.fence };
      this.#claims
        .finish({ claim, state, result: '', delayMs: 0, ttlMs })
        .pipe(catchError(() => of(false)))
        .subscribe();
    };
    try {
      const result = await work();
      end('PROCESSED');
      return { by: 'us', result };
    } catch (error) {
      end(mayHaveActed(error) ? 'DEAD' : 'FAILED');
      throw error;
    }
  }
}
