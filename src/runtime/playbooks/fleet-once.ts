import { catchError, firstValueFrom, map, merge, of, take } from 'rxjs';

import { after } from '../../operators/interop/after.ts';
import type { ClaimStore } from '../../ports/claim-store.ts';
import type { Timers } from '../../ports/clock.ts';

const leaseMs = 120_000;
const patienceMs = 3_000;
const shortestMemoryMs = 60_000;

/** What came of a step that one process of the fleet takes. */
export type Taken<T> = { readonly by: 'us'; readonly result: T } | { readonly by: 'another worker' };

/**
 * Lets one process of the fleet do something that all of them see a reason for. A store of claims that does not answer stops
 * nobody: told twice is better than not at all.
 */
export class FleetOnce {
  readonly #claims: Pick<ClaimStore, 'claim' | 'finish'>;
  readonly #timers: Timers;

  constructor(claims: Pick<ClaimStore, 'claim' | 'finish'>, timers: Timers) {
    this.#claims = claims;
    this.#timers = timers;
  }

  /** @param memoryMs who comes so soon after is too late. Rejects as the work does; then another one may try */
  async take<T>(id: string, memoryMs: number, work: () => Promise<T>): Promise<Taken<T>> {
    const ttlMs = Math.max(memoryMs, shortestMemoryMs);
    const late$ = after(this.#timers, patienceMs).pipe(map(() => undefined));
    const asked$ = this.#claims.claim({ id, origin: id, leaseMs, ttlMs, sent: false });
    const reply = await firstValueFrom(merge(asked$, late$).pipe(take(1)), { defaultValue: undefined });
    if (reply !== undefined && reply.kind !== 'granted') return { by: 'another worker' };
    const end = (state: 'PROCESSED' | 'FAILED'): void => {
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
      end('FAILED');
      throw error;
    }
  }
}
