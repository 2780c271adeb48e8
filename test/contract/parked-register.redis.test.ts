import { randomUUID } from 'node:crypto';

import { firstValueFrom } from 'rxjs';
import { afterAll, beforeAll, expect, it } from 'vitest';

import type { RedisConnection } from '../../src/adapters/redis/client.ts';
import { RedisParkedRegister } from '../../src/adapters/redis/parked-register.ts';
import { openConnections } from '../support/quota/redis-quota-bench.ts';
import { describeWithEachRedis } from '../support/services/provided.ts';
import { noLogger } from '../support/silent.ts';

import { parkedRegisterSuite } from './parked-register.suite.ts';

describeWithEachRedis('on Redis', (url) => {
  let connections: readonly [RedisConnection, RedisConnection];
  beforeAll(async () => {
    connections = await openConnections(url);
  });
  afterAll(async () => {
    await Promise.all(connections.map((connection) => connection.close()));
  });

  const registers = (): readonly [RedisParkedRegister, RedisParkedRegister] => {
    const options = { keyPrefix: `test:${randomUUID()}:`, group: 'larkspur.workers' };
    const [one, two] = connections;
    return [new RedisParkedRegister(one, noLogger, options), new RedisParkedRegister(two, noLogger, options)];
  };

  parkedRegisterSuite('Redis', () => {
    const [register, other] = registers();
    return Promise.resolve({
      register,
      other,
      restarted: () => Promise.resolve(other),
      close: () => {
        register.close();
        other.close();
        return Promise.resolve();
      },
    });
  });

  it('that has lost its data takes its owner for the owner, who goes on', async () => {
    const [register, other] = registers();
    await firstValueFrom(register.open('c/calls/0'));
    const { fence } = await firstValueFrom(register.open('c/calls/0'));
    const scope = { partition: 'c/calls/0', fence };
    await connections[0].client.flushall();
    expect(await firstValueFrom(register.put(scope, { key: 'a', offset: 1, dueMs: 1 }))).toBe(true);
    expect(await firstValueFrom(other.open('c/calls/0'))).toMatchObject({ fence: fence + 1, calls: [{ key: 'a' }] });
  });
});
