import { once } from 'node:events';
import { crc32 } from 'node:zlib';

import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';

import { RedisClaimStore } from '../../../src/adapters/redis/claim-store.ts';
import type { RedisConnection } from '../../../src/adapters/redis/client.ts';
import { redisFindings } from '../../../src/adapters/redis/findings.ts';
import { systemClock } from '../../../src/adapters/system/clock.ts';
import type { ClaimReply } from '../../../src/ports/claim-store.ts';
import { only } from '../../support/only.ts';
import { connectRedis, describeOnEachRedisProgram } from '../../support/redis.ts';
import { RedisCluster } from '../../support/services/redis-cluster.ts';
import { noLogger, noMetrics } from '../../support/silent.ts';

describeOnEachRedisProgram('claims on a Redis Cluster that fails over', (program) => {
  const cluster = new RedisCluster({ program, replicas: true });
  const connections: RedisConnection[] = [];
  const stores: RedisClaimStore[] = [];

  beforeAll(() => cluster.start(), 120_000);
  afterEach(async () => {
    for (const store of stores.splice(0)) store.close();
    await Promise.all(connections.splice(0).map((connection) => connection.close()));
  });
  afterAll(() => cluster.stop());

  const connect = async (): Promise<RedisConnection> => {
    const connection = connectRedis(cluster.urls[2] ?? '', connections.length + 1, true);
    connections.push(connection);
    await once(connection.client, 'ready');
    return connection;
  };
  /** A worker whose claims of calls without a key of their platform wait for a replica. */
  const openStore = async (): Promise<RedisClaimStore> => {
    const replicas = { connection: await connect(), metrics: noMetrics, replicas: 1, waitMs: 50 };
    const store = new RedisClaimStore(await connect(), noLogger, { replicas });
    stores.push(store);
    return store;
  };
  /** An id that this master keeps. */
  const idOn = async (master: number, name: string): Promise<string> => {
    const { client } = await connect();
    for (let n = 0; ; n++) {
      const id = `${name}-${n}`;
      const slot = Number(await client.call('CLUSTER', 'KEYSLOT', `larkspur:claim:{${crc32(id) % 64}}:${id}`));
      if (Math.floor((slot * 3) / 16_384) === master) return id;
    }
  };
  const ask = (store: RedisClaimStore, id: string, keyed: boolean, origin = 'o'): Promise<ClaimReply> =>
    only(store.claim({ id, origin, leaseMs: 5_000, ttlMs: 60_000, sent: true, withoutStoreMs: keyed ? 3_600_000 : 0 }));
  /** Asks again for as long as nobody can say. */
  const askUntilTold = async (store: RedisClaimStore, id: string, keyed: boolean): Promise<ClaimReply> => {
    for (;;) {
      const reply = await ask(store, id, keyed, 'another');
      if (reply.kind !== 'pending') return reply;
      await new Promise((resolve) => setTimeout(resolve, Math.min(reply.waitMs, 500)));
    }
  };

  it('shows the doctor how many replicas there are, and whether claims wait for them', async () => {
    const connection = await connect();
    const replicas = async (wanted: number) =>
      (await redisFindings(connection, systemClock, wanted)).find(({ name }) => name === 'redis-replicas');
    expect(await replicas(1)).toMatchObject({ ok: true });
    expect(await replicas(2)).toMatchObject({ ok: false, message: 'redis.replicas is 2, and there are 1' });
    expect(await replicas(0)).toMatchObject({
      ok: false,
      cure: expect.stringContaining('redis.replicas: 1') as string,
    });
  });

  it('grants a call without a platform key only when a replica knows of it; others do not wait', async () => {
    const store = await openStore();
    const [plain, keyed] = [await idOn(0, 'plain'), await idOn(0, 'keyed')];
    cluster.replicas[0]?.pause();
    expect(await ask(store, plain, false)).toEqual({ kind: 'pending', waitMs: 500 });
    expect(await ask(store, keyed, true)).toMatchObject({ kind: 'granted', fence: 1 });
    cluster.replicas[0]?.resume();
    // Given back, not abandoned: no lease to wait for, no takeover counted, never taken for sent by somebody who vanished.
    await expect
      .poll(() => ask(store, plain, false), { timeout: 10_000 })
      .toMatchObject({ kind: 'granted', takeovers: 0 });
  }, 60_000);

  it('may forget the claim of a call with a platform key: its replica was behind when the master died', async () => {
    const [store, other] = [await openStore(), await openStore()];
    const id = await idOn(0, 'forgotten');
    // What is on its way would still arrive: cut off, the replica misses what is claimed now.
    cluster.replicas[0]?.pause();
    await cluster.masters[0]?.command('CLIENT KILL TYPE replica');
    expect(await ask(store, id, true)).toMatchObject({ kind: 'granted', fence: 1 });
    await cluster.masters[0]?.kill9();
    cluster.replicas[0]?.resume();
    expect(await askUntilTold(other, id, true)).toMatchObject({ kind: 'granted', fence: 1, takeovers: 0 });
  }, 60_000);

  it('remembers the claim of a call without a platform key when its master dies in the next moment', async () => {
    const [store, other] = [await openStore(), await openStore()];
    const id = await idOn(1, 'remembered');
    expect(await ask(store, id, false)).toMatchObject({ kind: 'granted', fence: 1 });
    await cluster.masters[1]?.kill9();
    // The new master has no replica before the old one is back as one: until then such calls wait.
    await new Promise((resolve) => setTimeout(resolve, 6_000));
    expect(await ask(other, id, false)).toMatchObject({ kind: 'pending' });
    await cluster.masters[1]?.start();
    // Taken over when its lease had passed, and told that it may have been sent.
    const reply = await askUntilTold(other, id, false);
    expect(reply).toMatchObject({ kind: 'granted', takeovers: 1 });
    expect(reply.kind === 'granted' && reply.firstSentAgoMs).toBeGreaterThan(0);
  }, 60_000);
});
