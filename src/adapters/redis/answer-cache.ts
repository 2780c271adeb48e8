import { hash } from 'node:crypto';

import { LRUCache } from 'lru-cache';
import { Observable } from 'rxjs';

import type { Life, NearCacheBounds } from '../../operators/cache/near-cache.ts';
import type { AnswerCache, CachedAnswer } from '../../ports/answer-cache.ts';
import type { Clock, Timers } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';
import { answerBounds, sizeOfAnswer } from '../system/answer-cache.ts';
import { type Loaded, LoadingCache } from '../system/loading-cache.ts';

import type { RedisConnection } from './client.ts';

/** What a {@link RedisAnswerCache} stands on. */
export interface RedisAnswerCacheParts {
  readonly redis: Pick<RedisConnection, 'ready' | 'run'>;
  /** Of the tier in front: what this process knows. */
  readonly bounds?: NearCacheBounds;
  /** In front of every key, e.g. `larkspur:answer:news:`. */
  readonly prefix: string;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
}

// Who waits for a fallback has waited long enough.
const patienceMs = 100;
// A larger answer stays in the process that got it.
const mostBytes = 256 * 1024;
// A question asked a thousand times a second is written once.
const writeEveryMs = 1_000;
// How long "nothing there" is believed; spread, so that replicas do not ask in step.
const absentMs = 2_000;
const remembered = 10_000;
// What is near is looked at again after a hundredth of its life: another process may have asked since. Of one question that
// is 17 reads a second at most, however often it is asked here.
const lookAgainShare = 0.01;
const lookAgainMs = 60;

/**
 * Last good answers that all replicas share: in the memory of this process, behind it Redis. Each answer is kept near, and
 * written at most once a second per question; what is near serves on while one read looks for a newer one. While Redis is away
 * the near tier goes on alone.
 */
export class RedisAnswerCache implements AnswerCache {
  readonly #parts: RedisAnswerCacheParts;
  readonly #near: LoadingCache<CachedAnswer>;
  // Until when no further answer to a question is written.
  readonly #written = new LRUCache<string, number>({ max: remembered });

  constructor(parts: RedisAnswerCacheParts) {
    this.#parts = parts;
    const { bounds = answerBounds, redis, clock } = parts;
    this.#near = new LoadingCache({
      ...{ bounds, clock, sizeOf: sizeOfAnswer },
      ready: () => redis.ready(),
      // Also while Redis is away: it is asked no more often then.
      againMs: () => lookAgainMs,
      load: (key, kept) => this.#read(key, kept),
    });
  }

  get(key: string): CachedAnswer | undefined {
    return this.#near.known(key)?.value;
  }

  mayKnow(key: string): boolean {
    return this.#parts.redis.ready() && this.#near.known(key) === undefined;
  }

  lookUp(key: string): Observable<CachedAnswer | undefined> {
    return new Observable((subscriber) => {
      const answer = (): void => {
        cancel();
        subscriber.next(this.get(key));
        subscriber.complete();
      };
      let cancel = (): void => undefined;
      if (!this.mayKnow(key)) {
        answer();
        return undefined;
      }
      cancel = this.#parts.timers.after(patienceMs, answer);
      this.#near.look(key).then(answer, answer);
      return () => cancel();
    });
  }

  put(key: string, answer: CachedAnswer, ttlMs: number): void {
    const { redis, clock } = this.#parts;
    this.#near.put(key, answer, lifeOf(ttlMs));
    const nowMs = clock.now();
    if (answer.body.length > mostBytes || (this.#written.get(key) ?? 0) > nowMs || !redis.ready()) return;
    this.#written.set(key, nowMs + writeEveryMs);
    const write = redis.run('answer-put', (client) => client.set(this.#name(key), packed(answer), 'PX', ttlMs));
    // It is written again with the next answer.
    write.catch(() => this.#written.delete(key));
  }

  async #read(key: string, kept: () => CachedAnswer | undefined): Promise<Loaded<CachedAnswer>> {
    const { redis, random } = this.#parts;
    const name = this.#name(key);
    const [bytes, leftMs] = await redis.run('answer-get', (client) =>
      Promise.all([client.getBuffer(name), client.pttl(name)]),
    );
    const found = bytes === null || leftMs <= 0 ? undefined : unpacked(bytes);
    // Meanwhile this process may have asked itself.
    const here = kept();
    if (here !== undefined && (found === undefined || found.storedAtMs < here.storedAtMs)) return 'keep';
    if (found !== undefined) return { value: found, ...lifeOf(leftMs) };
    const lifeMs = Math.ceil(absentMs * (0.75 + random.next() / 2));
    return { value: undefined, freshMs: lifeMs, lifeMs };
  }

  // The question itself may hold what must not stand in a key, and is as long as it likes.
  #name(key: string): string {
    return this.#parts.prefix + hash('sha256', key, 'hex').slice(0, 32);
  }
}

function lifeOf(lifeMs: number): Life {
  return { lifeMs, freshMs: Math.max(lookAgainMs, Math.round(lifeMs * lookAgainShare)) };
}

/** One line of JSON, then the bytes of the body. */
function packed({ body, ...head }: CachedAnswer): Buffer {
  return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), body]);
}

/** `undefined` for what another version wrote. */
function unpacked(bytes: Buffer): CachedAnswer | undefined {
  const end = bytes.indexOf(0x0a);
  try {
    const head = JSON.parse(bytes.subarray(0, end).toString('utf8')) as Partial<CachedAnswer> | null;
    if (typeof head?.status !== 'number' || typeof head.storedAtMs !== 'number') return undefined;
    const { status, code, contentType, storedAtMs } = head;
    return { status, code, contentType, storedAtMs, body: Buffer.from(bytes.subarray(end + 1)) };
  } catch {
    return undefined;
  }
}
