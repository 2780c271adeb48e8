import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Cluster } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { RedisRuleShelf } from '../../src/adapters/redis/rule-shelf.ts';
import { systemTimers } from '../../src/adapters/system/clock.ts';
import { connectRedis, describeOnEachRedisProgram } from '../support/redis.ts';
import { describeWithEachRedis } from '../support/services/provided.ts';
import { RedisCluster } from '../support/services/redis-cluster.ts';

import { ruleShelfSuite } from './rule-shelf.suite.ts';

const shelfOn = (redis: ReturnType<typeof connectRedis>, keyPrefix = `rules-${randomUUID()}:`, process = 'p') =>
  new RedisRuleShelf({ redis, timers: systemTimers, keyPrefix, process });

describeWithEachRedis('on Redis', (url) => {
  ruleShelfSuite('Redis', async () => {
    const redis = connectRedis(url);
    await once(redis.client, 'ready');
    return { shelf: shelfOn(redis), wait: (ms) => sleep(ms), close: () => redis.close() };
  });

  it('an export that breaks off in the middle counts as not done, and is no snapshot', async () => {
    const redis = connectRedis(url);
    await once(redis.client, 'ready');
    let writes = Infinity;
    const breaking = {
      ready: () => redis.ready(),
      run: ((name, task) =>
        name === 'rules-put' && writes-- <= 0
          ? Promise.reject(new Error('cut off'))
          : redis.run(name, task)) as typeof redis.run,
    };
    const keyPrefix = `rules-${randomUUID()}:`;
    const shelf = new RedisRuleShelf({ redis: breaking, timers: systemTimers, keyPrefix, process: 'p' });
    const snapshot = (exportedAtMs: number) => ({ buckets: new Map([['a/x', '[1]']]), exportedAtMs, rules: 1 });
    const exportedAtMs = async () => [(await shelf.state())?.exportedAtMs, (await shelf.readAll())?.exportedAtMs];

    writes = 10;
    await expect(shelf.write(snapshot(1_000), 1, 60_000)).rejects.toThrow('cut off');
    expect([await exportedAtMs(), await shelf.renew(60_000)]).toEqual([[undefined, undefined], false]);
    writes = Infinity;
    expect(await shelf.write(snapshot(2_000), 2, 60_000)).toBe(true);
    writes = 10;
    await expect(shelf.write(snapshot(3_000), 3, 60_000)).rejects.toThrow('cut off');
    expect([await exportedAtMs(), await shelf.renew(60_000)]).toEqual([[2_000, undefined], false]);
    writes = Infinity;
    expect(await shelf.write(snapshot(4_000), 4, 60_000)).toBe(true);
    expect([await exportedAtMs(), await shelf.renew(60_000)]).toEqual([[4_000, 4_000], true]);
    await redis.close();
  });
});

describeOnEachRedisProgram('rules on a Redis Cluster of three nodes', (program) => {
  const cluster = new RedisCluster({ program });
  beforeAll(() => cluster.start(), 120_000);
  afterAll(() => cluster.stop());

  it('S004-28: lie on all nodes alike, and many processes that ask for one bucket all the time ask all nodes', async () => {
    const redis = connectRedis(cluster.urls[0] ?? '', 1, true);
    await once(redis.client, 'ready');
    const keyPrefix = `rules-${randomUUID()}:`;
    const shelves = Array.from({ length: 60 }, (_, n) => shelfOn(redis, keyPrefix, `process ${n}`));
    const buckets = new Map(Array.from({ length: 5_000 }, (_, n) => [`app/type.${n}`, `text ${n}`]));
    await shelves[0]!.write({ buckets, exportedAtMs: 1, rules: 5_000 }, 1, 60_000);
    const nodes = (redis.client as Cluster).nodes('master');
    const asked = async (): Promise<number[]> =>
      Promise.all(
        nodes.map(async (node) => Number(/cmdstat_hmget:calls=(\d+)/.exec(await node.info('commandstats'))?.[1] ?? 0)),
      );
    const shares = async (work: () => Promise<unknown>): Promise<number[]> => {
      const before = await asked();
      await work();
      const calls = (await asked()).map((count, node) => count - (before[node] ?? 0));
      const total = calls.reduce((sum, count) => sum + count, 0);
      return calls.map((count) => count / total);
    };

    const names = [...buckets.keys()];
    const all = await shares(async () => {
      for (let from = 0; from < names.length; from += 100) {
        await Promise.all(names.slice(from, from + 100).map((bucket) => shelves[0]!.read(bucket, false)));
      }
    });
    expect(Math.max(...all)).toBeLessThan(0.45);
    const one = await shares(async () => {
      for (let round = 0; round < 5; round++)
        await Promise.all(shelves.map((shelf) => shelf.read('app/type.7', false)));
    });
    expect(Math.max(...one)).toBe(1);
    const spread = await shares(async () => {
      for (let round = 0; round < 20; round++) {
        const read = await Promise.all(shelves.map((shelf) => shelf.read('app/type.7', true)));
        expect(new Set(read.map((shelved) => JSON.stringify(shelved)))).toEqual(
          new Set([JSON.stringify({ kind: 'rules', text: 'text 7' })]),
        );
      }
    });
    expect(Math.max(...spread)).toBeLessThan(0.6);
    await redis.close();
  });
});
