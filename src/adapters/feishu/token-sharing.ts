import { createHash } from 'node:crypto';

import { map, merge, mergeMap, type Observable, of, take } from 'rxjs';

import { isTree } from '../../model/schema-words.ts';
import { after } from '../../operators/interop/after.ts';
import { andThen } from '../../operators/interop/and-then.ts';
import type { Claim, ClaimReply, ClaimStore, Finish } from '../../ports/claim-store.ts';
import type { Clock, Timers } from '../../ports/clock.ts';

import type { Fetched, Previous } from './token-slot.ts';

/** What sharing tokens needs. */
export interface TokenSharingParts {
  /** Claims on tokens alone. */
  readonly claims: ClaimStore;
  /** Nothing readable leaves the process. */
  readonly seal: (text: string, place: string) => string;
  readonly open: (sealed: string, place: string) => string | undefined;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Names this process among all. */
  readonly process: string;
}

// Longer than one question to the platform may take.
const leaseMs = 8_000;
const askAgainMs = 100;
/** So long one process waits for another, or for the store; then it asks the platform itself, which harms nobody. */
const patienceMs = 6_000;
/** How long it is known that the platform stands by a token, or cannot be asked. */
const pauseMs = { same: 30_000, unavailable: 1_000, refused: 30_000 };

/**
 * Lets all processes get a token by one question to the platform. The next token is claimed under the fingerprint of the one
 * before it: who gets the claim asks, the others find what came of it. So a rejected token costs one question in all, however
 * many processes it was rejected at, and a new process finds the token by following the chain from its beginning.
 */
export class TokenSharing {
  readonly #parts: TokenSharingParts;
  #questions = 0;

  constructor(parts: TokenSharingParts) {
    this.#parts = parts;
  }

  /** @param name of the token over all apps, tenants and kinds @param ask$ asks the platform */
  fetch(name: string, previous: Previous | undefined, ask$: Observable<Fetched>): Observable<Fetched> {
    const { timers } = this.#parts;
    const late$ = after(timers, patienceMs).pipe(mergeMap(() => ask$));
    return merge(this.#claimed(name, previous, ask$), late$).pipe(take(1));
  }

  #claimed(name: string, previous: Previous | undefined, ask$: Observable<Fetched>): Observable<Fetched> {
    const { claims, timers, process } = this.#parts;
    const id = `${name}/${previous === undefined ? 'first' : fingerprint(previous.value)}`;
    const origin = `${process}/${this.#questions++}`;
    const asked$ = claims.claim({ id, origin, leaseMs, ttlMs: leaseMs, sent: false });
    return andThen(asked$, (reply): Observable<Fetched> => {
      switch (reply.kind) {
        case 'granted':
          return ask$.pipe(mergeMap((fetched) => this.#end({ id, fence: reply.fence }, fetched, previous)));
        case 'processed':
          return this.#found(id, reply, previous) ?? ask$;
        case 'pending':
          return after(timers, Math.min(reply.waitMs, askAgainMs)).pipe(
            mergeMap(() => this.#claimed(name, previous, ask$)),
          );
        case 'not-due':
          return of({ kind: 'unavailable', askedMs: reply.waitMs, message: 'another process could not get it either' });
        case 'dead':
          return ask$;
      }
    });
  }

  #found(
    id: string,
    { result }: Extract<ClaimReply, { kind: 'processed' }>,
    previous: Previous | undefined,
  ): Observable<Fetched> | undefined {
    const { open, clock } = this.#parts;
    const text = open(result, id);
    const kept: unknown = text === undefined ? undefined : JSON.parse(text);
    if (!isTree(kept)) return undefined;
    if (kept['same'] === true && previous !== undefined) {
      return of({ kind: 'token', value: previous.value, lifeMs: previous.expiresAtMs - clock.now() });
    }
    const { value, endsAtMs } = kept;
    if (typeof value !== 'string' || typeof endsAtMs !== 'number') return undefined;
    return of({ kind: 'token', value, lifeMs: endsAtMs - clock.wall() });
  }

  #end(claim: Claim, fetched: Fetched, previous: Previous | undefined): Observable<Fetched> {
    const { claims, seal, clock, timers } = this.#parts;
    const finish = ((): Finish => {
      if (fetched.kind !== 'token') {
        const delayMs = Math.max(pauseMs[fetched.kind], fetched.kind === 'unavailable' ? fetched.askedMs : 0);
        return { claim, state: 'FAILED', result: '', delayMs, ttlMs: delayMs };
      }
      const same = fetched.value === previous?.value;
      const kept = same ? { same } : { value: fetched.value, endsAtMs: clock.wall() + fetched.lifeMs };
      const ttlMs = same ? pauseMs.same : Math.max(1, fetched.lifeMs);
      return { claim, state: 'PROCESSED', result: seal(JSON.stringify(kept), claim.id), delayMs: 0, ttlMs };
    })();
    // A store that goes away in this moment keeps nobody waiting for a token that is here.
    return merge(claims.finish(finish), after(timers, 1_000)).pipe(
      take(1),
      map(() => fetched),
    );
  }
}

function fingerprint(value: string): string {
  return createHash('sha256').update(value).digest('base64url');
}
