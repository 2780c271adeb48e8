import { LRUCache } from 'lru-cache';
import { of } from 'rxjs';

import type { AnswerCache, CachedAnswer } from '../../ports/answer-cache.ts';
import type { Clock } from '../../ports/clock.ts';

/** Bounds of the memory tier. */
export interface AnswerCacheOptions {
  readonly maxEntries: number;
  readonly maxBytes: number;
}

// What an entry costs beside its key and body.
const overheadBytes = 200;

/** Lets an `LRUCache` count ages on a clock of ours: it takes the time 0 for "none", and caches the time by a timer. */
export function ageBy(clock: Clock): { readonly perf: { now(): number }; readonly ttlResolution: 0 } {
  return { perf: { now: () => clock.now() + 1 }, ttlResolution: 0 };
}

/** Last good answers in the memory of this process, the least recently used go first. */
export function memoryAnswerCache(
  clock: Clock,
  options: AnswerCacheOptions = { maxEntries: 10_000, maxBytes: 16 * 1_048_576 },
): AnswerCache {
  const answers = new LRUCache<string, CachedAnswer>({
    max: options.maxEntries,
    maxSize: options.maxBytes,
    sizeCalculation: (answer, key) => answer.body.length + key.length + overheadBytes,
    ...ageBy(clock),
  });
  const cache: AnswerCache = {
    get: (key) => answers.get(key),
    mayKnow: () => false,
    lookUp: (key) => of(answers.get(key)),
    put: (key, answer, ttlMs) => void answers.set(key, answer, { ttl: ttlMs }),
  };
  return cache;
}
