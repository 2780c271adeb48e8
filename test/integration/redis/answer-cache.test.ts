import { once } from 'node:events';

import { firstValueFrom } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { RedisAnswerCache } from '../../../src/adapters/redis/answer-cache.ts';
import type { RedisConnection } from '../../../src/adapters/redis/client.ts';
import { systemClock, systemTimers } from '../../../src/adapters/system/clock.ts';
import type { CachedAnswer } from '../../../src/ports/answer-cache.ts';
import { connectRedis } from '../../support/redis.ts';
import { describeWithEachRedis } from '../../support/services/provided.ts';
import { seededRandom } from '../../support/virtual-time.ts';

const answer = (text: string): CachedAnswer => ({
  status: 200,
  code: 0,
  contentType: 'application/json',
  body: Buffer.from(text),
  storedAtMs: 1_000,
});

describeWithEachRedis('last good answers', (url) => {
  let redis: RedisConnection;
  beforeAll(async () => {
    redis = connectRedis(url);
    await once(redis.client, 'ready');
  });
  afterAll(async () => {
    await redis.close();
  });
  let replicas = 0;
  let reads = 0;
  /** A replica of its own: only Redis is shared. */
  const replica = (prefix: string): RedisAnswerCache =>
    new RedisAnswerCache({
      redis: {
        ready: () => redis.ready(),
        run: (name, task) => {
          if (name === 'answer-get') reads++;
          return redis.run(name, task);
        },
      },
      prefix: `larkspur:answer:${prefix}:`,
      clock: systemClock,
      timers: systemTimers,
      random: seededRandom(++replicas),
    });
  const stored = (prefix: string): Promise<string[]> => redis.client.keys(`larkspur:answer:${prefix}:*`);
  const written = async (prefix: string): Promise<void> => {
    await expect.poll(() => stored(prefix)).not.toEqual([]);
  };

  it('S002-11: are found by another replica, with status, type, bytes and age, and then known there without another look', async () => {
    const [one, other] = [replica('found'), replica('found')];
    const bytes = { ...answer(''), body: Buffer.from([0x7b, 0x0a, 0x00, 0xff]) };
    one.put('question', bytes, 60_000);
    await written('found');
    expect(other.get('question')).toBeUndefined();

    const before = reads;
    expect(await firstValueFrom(other.lookUp('question'))).toEqual(bytes);
    expect([other.get('question'), await firstValueFrom(other.lookUp('question'))]).toEqual([bytes, bytes]);
    expect(reads - before).toBe(1);
  });

  it('S002-14: live in Redis for their time to live, and what another replica takes over lives no longer', async () => {
    const [one, other] = [replica('ttl'), replica('ttl')];
    one.put('question', answer('1'), 300_000);
    one.put('short', answer('2'), 400);
    await expect.poll(async () => (await stored('ttl')).length).toBe(2);
    const [name = ''] = (
      await Promise.all((await stored('ttl')).map(async (key) => [await redis.client.pttl(key), key]))
    )
      .filter(([leftMs]) => Number(leftMs) > 1_000)
      .map(([, key]) => String(key));
    expect(await redis.client.pttl(name)).toBeGreaterThan(290_000);

    expect(await firstValueFrom(other.lookUp('short'))).toBeDefined();
    await expect.poll(() => other.get('short'), { timeout: 2_000 }).toBeUndefined();
  });

  it('are written once a second however often they come', async () => {
    const one = replica('often');
    for (let i = 0; i < 1_000; i++) one.put('question', answer(String(i)), 60_000);
    await written('often');

    expect(await firstValueFrom(replica('often').lookUp('question'))).toEqual(answer('0'));
    expect(one.get('question')).toEqual(answer('999'));
  });

  it('are not asked for again at once where there was none', async () => {
    const one = replica('none');
    expect(one.mayKnow('question')).toBe(true);
    expect(await firstValueFrom(one.lookUp('question'))).toBeUndefined();

    expect(one.mayKnow('question')).toBe(false);
    one.put('question', answer('1'), 60_000);
    expect(one.get('question')).toEqual(answer('1'));
  });

  it('S004-27: of a question that is asked all the time are read from Redis at most 20 times a second, and follow what another process wrote', async () => {
    const [one, other] = [replica('hot'), replica('hot')];
    one.put('question', answer('old'), 2_000);
    await written('hot');
    await firstValueFrom(other.lookUp('question'));
    const startedMs = performance.now();
    const before = reads;
    let asked = 0;
    let newest: string | undefined;
    let rewritten = false;
    while (performance.now() - startedMs < 1_500) {
      for (let i = 0; i < 100; i++) newest = other.get('question')?.body.toString();
      asked += 100;
      if (!rewritten && performance.now() - startedMs > 1_100) {
        rewritten = true;
        one.put('question', { ...answer('new'), storedAtMs: 2_000 }, 2_000);
      }
      await new Promise((later) => setTimeout(later, 1));
    }

    expect(asked).toBeGreaterThan(10_000);
    expect(newest).toBe('new');
    const seconds = (performance.now() - startedMs) / 1_000;
    expect(reads - before).toBeLessThanOrEqual(20 * seconds);
    expect(reads - before).toBeGreaterThan(5);
  });

  it('that are large stay in their process', async () => {
    const [one, other] = [replica('large'), replica('large')];
    one.put('large', { ...answer(''), body: Buffer.alloc(300_000, 0x61) }, 60_000);
    one.put('small', answer('1'), 60_000);
    await written('large');

    expect(await stored('large')).toHaveLength(1);
    expect(await firstValueFrom(other.lookUp('large'))).toBeUndefined();
  });

  it('stand in no key: neither a path nor a name is to be read there', async () => {
    const one = replica('names');
    one.put('["cli_a","ou_secret","/contact/v3/users"]', answer('1'), 60_000);
    await written('names');

    expect((await stored('names'))[0]).toMatch(/^larkspur:answer:names:[0-9a-f]{32}$/);
  });
});

describe('last good answers while Redis is away', () => {
  it('are those of this process, at once', async () => {
    const redis = connectRedis('redis://127.0.0.1:1');
    const parts = { clock: systemClock, timers: systemTimers, random: seededRandom(1) };
    const one = new RedisAnswerCache({ redis, prefix: 'x:', ...parts });
    one.put('question', answer('1'), 60_000);

    expect([one.get('question'), one.mayKnow('other')]).toEqual([answer('1'), false]);
    expect(await firstValueFrom(one.lookUp('other'))).toBeUndefined();
    await redis.close();
  });
});
