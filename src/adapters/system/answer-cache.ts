import { LRUCache } from 'lru-cache';

import type { AnswerCache, CachedAnswer } from '../../ports/answer-cache.ts';

/** Bounds of the memory tier. */
export interface AnswerCacheOptions {
  readonly maxEntries: number;
  readonly maxBytes: number;
}

// What an entry costs beside its key and body.
const overheadBytes = 200;

/** Last good answers in the memory of this process, the least recently used go first. */
export function memoryAnswerCache(
  options: AnswerCacheOptions = { maxEntries: 10_000, maxBytes: 16 * 1_048_576 },
): AnswerCache {
  const answers = new LRUCache<string, CachedAnswer>({
    max: options.maxEntries,
    maxSize: options.maxBytes,
    sizeCalculation: (answer, key) => answer.body.length + key.length + overheadBytes,
  });
  return {
    get: (key) => answers.get(key),
    put: (key, answer, ttlMs) => void answers.set(key, answer, { ttl: ttlMs }),
  };
}
