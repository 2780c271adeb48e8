import { of } from 'rxjs';

import { NearCache, type NearCacheBounds } from '../../operators/cache/near-cache.ts';
import type { AnswerCache, CachedAnswer } from '../../ports/answer-cache.ts';
import type { Clock } from '../../ports/clock.ts';

/** How much a process keeps of the answers of one upstream. */
export const answerBounds: NearCacheBounds = { maxEntries: 10_000, maxBytes: 16 * 1_048_576 };

/** Bytes of a kept answer. */
export const sizeOfAnswer = ({ body }: CachedAnswer): number => body.length;

/** Last good answers in the memory of this process, the least recently used go first. */
export function memoryAnswerCache(clock: Clock, bounds = answerBounds): AnswerCache {
  const answers = new NearCache<CachedAnswer>(bounds, sizeOfAnswer);
  const get = (key: string): CachedAnswer | undefined => answers.get(key, clock.now())?.value;
  const cache: AnswerCache = {
    get,
    mayKnow: () => false,
    lookUp: (key) => of(get(key)),
    put: (key, answer, ttlMs) => answers.put(key, answer, { freshMs: ttlMs, lifeMs: ttlMs }, clock.now()),
  };
  return cache;
}
