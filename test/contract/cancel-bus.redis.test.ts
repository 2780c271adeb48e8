import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, expect, it } from 'vitest';

import { RedisCancelBus } from '../../src/adapters/redis/cancel-bus.ts';
import type { RedisConnection } from '../../src/adapters/redis/client.ts';
import { only } from '../support/only.ts';
import { openConnections } from '../support/quota/redis-quota-bench.ts';
import { describeWithEachRedis } from '../support/services/provided.ts';

import { cancelBusSuite } from './cancel-bus.suite.ts';

describeWithEachRedis('on Redis', (url) => {
  let connections: readonly [RedisConnection, RedisConnection];
  beforeAll(async () => {
    connections = await openConnections(url);
  });
  afterAll(async () => {
    await Promise.all(connections.map((connection) => connection.close()));
  });

  cancelBusSuite('Redis', () => {
    const prefix = `t${randomUUID().slice(0, 8)}:`;
    return { teller: new RedisCancelBus(connections[0], prefix), hearer: new RedisCancelBus(connections[1], prefix) };
  });

  it('says that nobody was told when Redis cannot be asked', async () => {
    const gone = await openConnections(url);
    const bus = new RedisCancelBus(gone[0], 't:');
    await Promise.all(gone.map((connection) => connection.close()));

    expect(await only(bus.tell('order-1'))).toBe(false);
  });
});
