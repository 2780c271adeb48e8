import { randomUUID } from 'node:crypto';
import { once } from 'node:events';

import type { Redis } from 'ioredis';

import { RedisClaimStore } from '../../src/adapters/redis/claim-store.ts';
import { RedisConnection } from '../../src/adapters/redis/client.ts';
import { systemClock, systemRandom, systemTimers } from '../../src/adapters/system/clock.ts';
import type { ClaimStoreBench } from '../support/claims/claim-bench.ts';
import { describeWithEachRedis } from '../support/services/provided.ts';
import { noLogger, noMetrics } from '../support/silent.ts';

import { claimStoreSuite } from './claim-store.suite.ts';

function connect(url: string): RedisConnection {
  return new RedisConnection({
    url,
    clock: systemClock,
    timers: systemTimers,
    random: systemRandom,
    logger: noLogger,
    metrics: noMetrics,
    commandTimeoutMs: 5_000,
  });
}

/** The script takes its time from the test; Redis' own expiry is moved along by hand. */
const pass = `
  for _, key in ipairs(redis.call('KEYS', ARGV[1] .. '*')) do
    redis.call('PEXPIRE', key, redis.call('PTTL', key) - ARGV[2])
  end`;

async function openBench(url: string): Promise<ClaimStoreBench> {
  const keyPrefix = `test:${randomUUID()}:`;
  const connections = [connect(url), connect(url)] as const;
  await Promise.all(connections.map((connection) => once(connection.client, 'ready')));
  let now = Date.UTC(2026, 0, 1);
  const [store, other] = connections.map(
    (connection) => new RedisClaimStore(connection, noLogger, { keyPrefix, now: () => now }),
  );
  const client = connections[0].client as Redis;
  return {
    store: store!,
    other: other!,
    async advance(ms) {
      now += ms;
      await client.eval(pass, 0, keyPrefix, ms);
    },
    async close() {
      await client.del(keyPrefix, ...(await client.keys(`${keyPrefix}*`)));
      await Promise.all(connections.map((connection) => connection.close()));
    },
  };
}

describeWithEachRedis('on Redis', (url) => {
  claimStoreSuite('Redis', () => openBench(url), { histories: 60 });
});
