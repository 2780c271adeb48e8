import { crc32 } from 'node:zlib';

import type { Cluster, Redis } from 'ioredis';

import { LarkspurError } from '../../model/errors.ts';
import type { RuleSnapshot } from '../../model/rule.ts';
import type { Timers } from '../../ports/clock.ts';
import type { RuleShelf, Shelved, ShelfState } from '../../ports/rule-shelf.ts';
import { inTime } from '../system/in-time.ts';

import type { RedisConnection } from './client.ts';
import { evaluate, loadScript } from './scripts.ts';

/** What a {@link RedisRuleShelf} stands on. */
export interface RedisRuleShelfParts {
  readonly redis: Pick<RedisConnection, 'ready' | 'run'>;
  readonly timers: Timers;
  /** In front of every key, e.g. `larkspur:`. */
  readonly keyPrefix: string;
  /** Names this process: which copy of a hot bucket it reads. */
  readonly process: string;
}

// As many as there may be nodes, and several for each: none has much more than its share.
const shards = 64;
const atOnce = 8;
const copies = 16;
const readWithinMs = 100;
const shardNames = Array.from({ length: shards }, (_, shard) => `rules:{${shard}}`);
// Tells of the whole: so it is written last, and only when the others are there.
const [first = '', ...others] = shardNames;
const script = loadScript('rules');

/**
 * {@link RuleShelf} in Redis: buckets spread by CRC32 over 64 hashes, each with a slot of its own. A bucket that many processes ask
 * for all the time is read from one of sixteen copies in slots of their own, made by who first finds none; they stand no longer
 * than what they were made from.
 */
export class RedisRuleShelf implements RuleShelf {
  readonly #parts: RedisRuleShelfParts;

  constructor(parts: RedisRuleShelfParts) {
    this.#parts = parts;
  }

  async read(bucket: string, spread: boolean): Promise<Shelved> {
    const shard = this.#key(shardOf(bucket));
    if (!spread) return shelved(await this.#fields(shard, bucket));
    const copy = this.#key(copyOf(bucket, this.#parts.process));
    const copied = await this.#fields(copy, bucket);
    if (copied[0] !== null) return shelved(copied);
    const fields = await this.#fields(shard, bucket);
    const [head, text] = fields;
    if (head !== null) void this.#copy(shard, copy, bucket, [head, text]).catch(() => undefined);
    return shelved(fields);
  }

  async readAll(): Promise<RuleSnapshot | undefined> {
    const all = await this.#each(shardNames, 'rules-all', (client, key) => client.hgetall(key));
    const head = all[0]?.[''];
    const known = headOf(head);
    // Parts of two exports are no snapshot.
    if (known === undefined || all.some((fields) => fields[''] !== head)) return undefined;
    const buckets = new Map(all.flatMap((fields) => Object.entries(fields).filter(([name]) => name !== '')));
    return { buckets, ...known };
  }

  async state(): Promise<ShelfState | undefined> {
    const key = this.#key(first);
    const [head, leftMs] = await this.#parts.redis.run('rules-state', (client) =>
      Promise.all([client.hget(key, ''), client.pttl(key)]),
    );
    const known = headOf(head);
    return known === undefined || leftMs <= 0 ? undefined : { exportedAtMs: known.exportedAtMs, leftMs };
  }

  async write({ buckets, exportedAtMs, rules }: RuleSnapshot, fence: number, ttlMs: number): Promise<boolean> {
    const fields = new Map(shardNames.map((name): [string, string[]] => [name, []]));
    for (const [bucket, text] of buckets) fields.get(shardOf(bucket))?.push(bucket, text);
    const head = `${fence} ${exportedAtMs} ${rules}`;
    const put = async (names: readonly string[]): Promise<boolean> => {
      const replies = await this.#each(names, 'rules-put', (client, key, name) =>
        evaluate(client, script, [key], [fence, ttlMs, head, ...(fields.get(name) ?? [])]),
      );
      return replies.every((reply) => reply === 1);
    };
    return (await put(others)) && (await put([first]));
  }

  async renew(ttlMs: number): Promise<boolean> {
    const renew = (names: readonly string[]) =>
      this.#each(names, 'rules-renew', (client, key) =>
        Promise.all([client.pexpire(key, ttlMs), client.hget(key, '')]),
      );
    const rest = await renew(others);
    if (rest.some(([renewed]) => renewed !== 1)) return false;
    const [[renewed, head] = [0, null]] = await renew([first]);
    return renewed === 1 && rest.every(([, other]) => other === head);
  }

  ready(): boolean {
    return this.#parts.redis.ready();
  }

  /** Does something to each of some shards, few at once: together they are much, and each answer has its time. */
  async #each<T>(
    names: readonly string[],
    name: string,
    task: (client: Redis | Cluster, key: string, shard: string) => Promise<T>,
  ): Promise<readonly T[]> {
    const { redis } = this.#parts;
    const replies: T[] = [];
    for (let from = 0; from < names.length; from += atOnce) {
      const some = names.slice(from, from + atOnce);
      const run = (shard: string): Promise<T> => redis.run(name, (client) => task(client, this.#key(shard), shard));
      replies.push(...(await Promise.all(some.map(run))));
    }
    return replies;
  }

  /** Who waits for a rule waits no longer than this; what comes later is dropped. */
  #fields(key: string, bucket: string): Promise<Fields> {
    const asked = this.#parts.redis.run('rules-get', async (client): Promise<Fields> => {
      const [head = null, text = null] = await client.hmget(key, '', bucket);
      return [head, text];
    });
    return inTime(asked, readWithinMs, this.#parts.timers, late);
  }

  async #copy(shard: string, copy: string, bucket: string, [head, text]: readonly [string, string | null]) {
    await this.#parts.redis.run('rules-copy', async (client) => {
      const leftMs = await client.pttl(shard);
      // A change is seen there a little later than where it is written: no more than a refresh near costs anyway.
      const ttlMs = Math.min(leftMs, copyMs);
      if (ttlMs <= 0) return;
      await client
        .multi()
        .hset(copy, { '': head, ...(text === null ? {} : { [bucket]: text }) })
        .pexpire(copy, ttlMs)
        .exec();
    });
  }

  #key(name: string): string {
    return this.#parts.keyPrefix + name;
  }
}

type Fields = readonly [head: string | null, text: string | null];

// A copy that lives long serves an old rule for as long.
const copyMs = 500;

function late(): LarkspurError {
  return new LarkspurError('redis_unavailable', `Redis has not answered within ${readWithinMs} ms`, {
    retryable: true,
  });
}

function shelved([head, text]: Fields): Shelved {
  if (text !== null) return { kind: 'rules', text };
  return { kind: head === null ? 'gone' : 'none' };
}

function shardOf(bucket: string): string {
  return shardNames[crc32(bucket) % shards] ?? '';
}

function copyOf(bucket: string, process: string): string {
  // The tag alone decides the slot: another one for each copy.
  return `rules:{${crc32(`${bucket}#${crc32(process) % copies}`)}}:${bucket}`;
}

function headOf(head: string | null | undefined): { exportedAtMs: number; rules: number } | undefined {
  const [, exportedAtMs, rules] = (head ?? '').split(' ').map(Number);
  return exportedAtMs === undefined || rules === undefined ? undefined : { exportedAtMs, rules };
}
