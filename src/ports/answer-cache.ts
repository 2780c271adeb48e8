import type { Observable } from 'rxjs';

/**
 * Last good answers of one upstream, for the fallback. Bounded in entries and bytes; an entry older than its time to live
 * is not returned. Losing one costs a fallback, no more: nothing here ever errors.
 */
export interface AnswerCache {
  /** What this process knows at once. */
  get(key: string): CachedAnswer | undefined;
  /** Whether {@link lookUp} may find what {@link get} does not: false where it just found nothing, and while it cannot ask. */
  mayKnow(key: string): boolean;
  /** Asks where other processes keep theirs; what it finds is known from then on. Emits once, soon, then completes. */
  lookUp(key: string): Observable<CachedAnswer | undefined>;
  /** Remembers an answer, for other processes too. */
  put(key: string, answer: CachedAnswer, ttlMs: number): void;
}

/** One remembered answer. */
export interface CachedAnswer {
  readonly status: number;
  readonly code: number | undefined;
  readonly contentType: string | undefined;
  readonly body: Buffer;
  /** When it was live, epoch milliseconds. */
  readonly storedAtMs: number;
}
