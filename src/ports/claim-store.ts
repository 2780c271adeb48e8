import type { Observable } from 'rxjs';

/** Asks for the right to act on a call. */
export interface ClaimRequest {
  readonly id: string;
  /** The record that asks: a finished claim of the same origin gives its own result back, another one a duplicate. */
  readonly origin: string;
  readonly leaseMs: number;
  readonly ttlMs: number;
  /** Whether bytes may leave from now on: the first such moment is remembered over all owners. */
  readonly sent: boolean;
  /**
   * For so long the call may go on while the store is away, because a repeat is harmless or its platform surely still
   * knows its key; absent or 0: it waits for the store.
   */
  readonly withoutStoreMs?: number;
  /**
   * How often a person has sent the call again; default 0. A claim that is DEAD is granted once more to the first who asks
   * with a higher round than it has seen: so redriving the same dead letter twice acts once.
   */
  readonly round?: number;
}

/** The right to act on a call until the lease ends. Fences of one id strictly increase. */
export interface Claim {
  readonly id: string;
  readonly fence: number;
}

/** Answer to a {@link ClaimRequest}. */
export type ClaimReply =
  | {
      readonly kind: 'granted';
      readonly fence: number;
      /** Milliseconds since some owner first may have sent it, or `undefined` when nobody did. */
      readonly firstSentAgoMs: number | undefined;
      /** Earlier owners that vanished with the claim open. */
      readonly takeovers: number;
      /** Nobody wants the call any more; it counts as not sent by this grant. */
      readonly cancelled?: true;
    }
  /** Done before. `origin` is that of the record that was first; `result` what it stored. */
  | { readonly kind: 'processed'; readonly origin: string; readonly result: string }
  /** Another owner is at it: ask again after `waitMs`. */
  | { readonly kind: 'pending'; readonly waitMs: number }
  /** Failed before and not yet due. */
  | { readonly kind: 'not-due'; readonly waitMs: number }
  /** Ended without success, or too many owners died with it. */
  | { readonly kind: 'dead'; readonly origin: string; readonly result: string };

/** How a claim ends. */
export interface Finish {
  readonly claim: Claim;
  readonly state: 'PROCESSED' | 'FAILED' | 'DEAD';
  /** Kept for PROCESSED and DEAD: enough to rebuild the terminal record. */
  readonly result: string;
  /** FAILED only: not to be claimed again before. */
  readonly delayMs: number;
  /** FAILED only: nothing may have acted under this claim or an earlier one, so no first send is remembered. Default false. */
  readonly nothingActed?: boolean;
  readonly ttlMs: number;
}

/** What a store knows about an id. */
export type ClaimView =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'pending' | 'failed' }
  | { readonly kind: 'processed' | 'dead'; readonly origin: string; readonly result: string };

/**
 * What came of a cancellation. `kept`: nobody is at the call, and whoever is granted it later is told. `told`: somebody is, or
 * was, so it may have been sent. `ended`: there is nothing to cancel.
 */
export type Cancelled = 'kept' | 'told' | 'ended';

/**
 * Who acts on which call, so that none takes effect twice.
 *
 * Promises: at most one owner with a live lease per id; PROCESSED is final until its TTL, and so is DEAD but for a higher
 * round, which begins as if nothing had been sent; a finish or
 * extension with an old fence changes nothing and says `false`. All methods emit once, then complete; calls made in the
 * same moment are batched by the adapter. While the store is away they wait and try again (they do not fail);
 * unsubscribing stops waiting. The store's own clock decides leases, never the caller's.
 */
export interface ClaimStore {
  claim(request: ClaimRequest): Observable<ClaimReply>;
  /** Prolongs leases; one flag per claim, `false` for a claim that was lost. */
  extend(claims: readonly Claim[], leaseMs: number): Observable<readonly boolean[]>;
  /** `false`: superseded, nothing was stored. */
  finish(finish: Finish): Observable<boolean>;
  view(id: string): Observable<ClaimView>;
  /** Nobody wants the call of this id any more, whether it has been asked for yet or not. Remembered for `ttlMs`. */
  cancel(id: string, ttlMs: number): Observable<Cancelled>;
  /** Whether the store answers at present. */
  ready(): boolean;
}
