import { RedisAnswerCache } from '../../../src/adapters/redis/answer-cache.ts';
import type { RedisConnection } from '../../../src/adapters/redis/client.ts';
import { systemClock, systemRandom, systemTimers } from '../../../src/adapters/system/clock.ts';
import { only } from '../../support/only.ts';

/** What a process asked, by who answered. */
export interface Tiers {
  memory: number;
  redis: number;
  source: number;
  /** Questions put to Redis, whether or not it knew. */
  redisReads: number;
}

const sourceMs = 5;

/** A process that reads as the stage `recall` does: its memory, else Redis, else the source, once for all that wait. */
export class Reader {
  readonly tiers: Tiers = { memory: 0, redis: 0, source: 0, redisReads: 0 };
  readonly #cache: RedisAnswerCache;
  readonly #ttlMs: number;
  readonly #loading = new Map<string, Promise<void>>();

  /** @param maxEntries of its memory */
  constructor(redis: RedisConnection, prefix: string, ttlMs: number, maxEntries: number) {
    this.#ttlMs = ttlMs;
    this.#cache = new RedisAnswerCache({
      redis: {
        ready: () => redis.ready(),
        run: (name, task) => {
          if (name === 'answer-get') this.tiers.redisReads++;
          return redis.run(name, task);
        },
      },
      bounds: { maxEntries, maxBytes: 64 * 1_048_576 },
      prefix,
      ...{ clock: systemClock, timers: systemTimers, random: systemRandom },
    });
  }

  /** Whether its memory knows. */
  knows(key: string): boolean {
    if (this.#cache.get(key) === undefined) return false;
    this.tiers.memory++;
    return true;
  }

  async read(key: string): Promise<void> {
    if (this.knows(key)) return;
    let load = this.#loading.get(key);
    if (load !== undefined) {
      await load;
      this.tiers.memory++;
      return;
    }
    load = this.#load(key).finally(() => this.#loading.delete(key));
    this.#loading.set(key, load);
    await load;
  }

  async #load(key: string): Promise<void> {
    if (this.#cache.mayKnow(key) && (await only(this.#cache.lookUp(key))) !== undefined) {
      this.tiers.redis++;
      return;
    }
    this.tiers.source++;
    await new Promise((resolve) => setTimeout(resolve, sourceMs));
    const body = Buffer.from(JSON.stringify({ key, at: Date.now() }));
    const head = { status: 200, code: undefined, contentType: 'application/json', storedAtMs: systemClock.wall() };
    this.#cache.put(key, { ...head, body }, this.#ttlMs);
  }
}
