/** Last good answers, for the `cached` fallback. Bounded in entries and bytes; an entry older than its TTL is not returned. */
export interface AnswerCache {
  get(key: string): CachedAnswer | undefined;
  put(key: string, answer: CachedAnswer, ttlMs: number): void;
}

/** One remembered answer. */
export interface CachedAnswer {
  readonly status: number;
  readonly code: number | undefined;
  readonly contentType: string | undefined;
  readonly body: Buffer;
}
