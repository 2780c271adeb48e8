import type { ClaimRequest, ClaimStore, Finish } from '../../../src/ports/claim-store.ts';

/** A store under test, with a clock that the test moves. */
export interface ClaimStoreBench {
  readonly store: ClaimStore;
  /** A second client of the same claims; the same object where a process can have only one. */
  readonly other: ClaimStore;
  /** Moves the store's clock; whole milliseconds. */
  advance(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** Lease of {@link request}. */
export const leaseMs = 30_000;
const ttlMs = 24 * 3_600_000;

/** An ordinary request for `call-1`. */
export function request(more: Partial<ClaimRequest> = {}): ClaimRequest {
  return { id: 'call-1', origin: 'c1/calls/0/7/1000', leaseMs, ttlMs, sent: false, ...more };
}

/** An ordinary end of `call-1`. */
export function ending(fence: number, more: Partial<Finish> = {}): Finish {
  const claim = { id: 'call-1', fence };
  return { claim, state: 'PROCESSED', result: '{"status":"ok"}', delayMs: 0, ttlMs, ...more };
}
