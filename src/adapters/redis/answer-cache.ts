import { hash } from 'node:crypto';

import { LRUCache } from 'lru-cache';
import { Observable } from 'rxjs';

import type { AnswerCache, CachedAnswer } from '../../ports/answer-cache.ts';
import type { Clock, Timers } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';
import { ageBy } from '../system/answer-cache.ts';

import type { RedisConnection } from './client.ts';

/** What a {@link RedisAnswerCache} stands on. */
export interface RedisAnswerCacheParts {
  readonly redis: Pick<RedisConnection, 'ready' | 'run'>;
  /** The tier in front: what this process knows. */
  readonly near: AnswerCache;
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
  readonly #written: LRUCache<string, true>;
  readonly #absent: LRUCache<string, true>;
  readonly #current: LRUCache<string, true>;

  constructor(parts: RedisAnswerCacheParts) {
    this.#parts = parts;
    const options = { max: remembered, ...ageBy(parts.clock) };
    this.#written = new LRUCache({ ...options, ttl: writeEveryMs });
    this.#absent = new LRUCache({ ...options, ttl: absentMs });
    this.#current = new LRUCache({ ...options, ttl: lookAgainMs });
  }

  get(key: string): CachedAnswer | undefined {
    const known = this.#parts.near.get(key);
    if (known !== undefined && !this.#current.has(key)) this.#lookAgain(key);
    return known;
  }

  mayKnow(key: string): boolean {
    return this.#parts.redis.ready() && !this.#absent.has(key);
  }

  lookUp(key: string): Observable<CachedAnswer | undefined> {
    return new Observable((subscriber) => {
      const known = this.get(key);
      if (known !== undefined || !this.mayKnow(key)) {
        subscriber.next(known);
        subscriber.complete();
        return undefined;
      }
      const answer = (found: CachedAnswer | undefined): void => {
        cancel();
        subscriber.next(found);
        subscriber.complete();
      };
      const cancel = this.#parts.timers.after(patienceMs, () => answer(undefined));
      this.#read(key).then(answer, () => answer(undefined));
      return cancel;
    });
  }

  put(key: string, answer: CachedAnswer, ttlMs: number): void {
    const { near, redis } = this.#parts;
    near.put(key, answer, ttlMs);
    this.#absent.delete(key);
    this.#believe(key, ttlMs);
    if (answer.body.length > mostBytes || this.#written.has(key) || !redis.ready()) return;
    this.#written.set(key, true);
    const write = redis.run('answer-put', (client) => client.set(this.#name(key), packed(answer), 'PX', ttlMs));
    // It is written again with the next answer.
    write.catch(() => this.#written.delete(key));
  }

  #lookAgain(key: string): void {
    // Also while Redis is away: it is asked no more often then.
    this.#current.set(key, true);
    if (this.#parts.redis.ready()) this.#read(key).catch(() => undefined);
  }

  #believe(key: string, leftMs: number): void {
    this.#current.set(key, true, { ttl: Math.max(lookAgainMs, Math.round(leftMs * lookAgainShare)) });
  }

  async #read(key: string): Promise<CachedAnswer | undefined> {
    const { redis, near, random } = this.#parts;
    const name = this.#name(key);
    const [bytes, leftMs] = await redis.run('answer-get', (client) =>
      Promise.all([client.getBuffer(name), client.pttl(name)]),
    );
    const found = bytes === null || leftMs <= 0 ? undefined : unpacked(bytes);
    if (found === undefined) {
      this.#absent.set(key, true, { ttl: Math.ceil(absentMs * (0.75 + random.next() / 2)) });
      return undefined;
    }
    this.#believe(key, leftMs);
    // Meanwhile this process may have asked itself.
    if (found.storedAtMs >= (near.get(key)?.storedAtMs ?? 0)) near.put(key, found, leftMs);
    return near.get(key);
  }

  // The question itself may hold what must not stand in a key, and is as long as it likes.
  #name(key: string): string {
    return this.#parts.prefix + hash('sha256', key, 'hex').slice(0, 32);
  }
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
