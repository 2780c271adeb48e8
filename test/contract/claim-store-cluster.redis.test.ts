import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { crc32 } from 'node:zlib';

import type { Cluster } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { RedisClaimStore } from '../../src/adapters/redis/claim-store.ts';
import type { RedisConnection } from '../../src/adapters/redis/client.ts';
import type { ClaimStoreBench } from '../support/claims/claim-bench.ts';
import { only } from '../support/only.ts';
import { connectRedis, describeOnEachRedisProgram } from '../support/redis.ts';
import { RedisCluster } from '../support/services/redis-cluster.ts';
import { noLogger } from '../support/silent.ts';

import { claimStoreSuite } from './claim-store.suite.ts';

describeOnEachRedisProgram('on a Redis Cluster of three nodes', (program) => {
  const cluster = new RedisCluster({ program });
  beforeAll(() => cluster.start(), 120_000);
  afterAll(() => cluster.stop());

  const connect = async (): Promise<RedisConnection> => {
    const connection = connectRedis(cluster.urls[0] ?? '', 1, true);
    await once(connection.client, 'ready');
    return connection;
  };
  const masters = (connection: RedisConnection) => (connection.client as Cluster).nodes('master');

  it('hears on every connection what is said on a channel', async () => {
    const [teller, hearer] = await Promise.all([connect(), connect()]);
    const heard: string[] = [];
    hearer.hear('test:channel', (message) => heard.push(message));
    // Who has just begun to listen may miss what is said at that moment.
    while (heard.length === 0) await teller.run('say', (client) => client.publish('test:channel', 'rest'));
    expect(heard[0]).toBe('rest');
    await Promise.all([teller, hearer].map((connection) => connection.close()));
  });

  async function openBench(): Promise<ClaimStoreBench> {
    const keyPrefix = `test:${randomUUID()}:`;
    const connections = await Promise.all([connect(), connect()]);
    let now = Date.UTC(2026, 0, 1);
    const [store, other] = connections.map(
      (connection) => new RedisClaimStore(connection, noLogger, { keyPrefix, now: () => now }),
    );
    const ours = (task: (node: ReturnType<typeof masters>[number], key: string) => Promise<unknown>) =>
      Promise.all(
        masters(connections[0]).map(async (node) => {
          for (const key of await node.keys(`${keyPrefix}*`)) await task(node, key);
        }),
      );
    return {
      store: store!,
      other: other!,
      // The script takes its time from the test; Redis' own expiry is moved along by hand.
      async advance(ms) {
        now += ms;
        await ours(async (node, key) => node.pexpire(key, (await node.pttl(key)) - ms));
      },
      async close() {
        await ours((node, key) => node.del(key));
        await Promise.all(connections.map((connection) => connection.close()));
      },
    };
  }

  claimStoreSuite('Redis Cluster', openBench, { histories: 15 });

  it('S004-28: spreads the claims over its nodes, at most 45 % on one', async () => {
    const connection = await connect();
    const claims = new RedisClaimStore(connection, noLogger);
    const ids = Array.from({ length: 3_000 }, (_, i) => `id-${i}`);
    const replies = await Promise.all(
      ids.map((id) => only(claims.claim({ id, origin: 'o', leaseMs: 30_000, ttlMs: 60_000, sent: true }))),
    );
    expect(replies.every(({ kind }) => kind === 'granted')).toBe(true);
    const sizes = await Promise.all(masters(connection).map((node) => node.dbsize()));
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(ids.length);
    expect(Math.max(...sizes)).toBeLessThan(0.45 * ids.length);
    expect(new Set(ids.map((id) => crc32(id) % 64)).size).toBe(64);
    claims.close();
    await connection.close();
  });
});
