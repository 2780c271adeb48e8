import { randomUUID } from 'node:crypto';
import { once } from 'node:events';

import type { Cluster, Redis } from 'ioredis';

import type { RedisConnection } from '../../../src/adapters/redis/client.ts';
import { RedisQuotaLog } from '../../../src/adapters/redis/quota-log.ts';
import { loadScript } from '../../../src/adapters/redis/scripts.ts';
import { systemTimers } from '../../../src/adapters/system/clock.ts';
import { connectRedis } from '../redis.ts';
import { noLogger } from '../silent.ts';

import { ask, bucket, type QuotaLogBench } from './quota-bench.ts';

/** Two connections that are ready, shared by the benches of a file. */
export async function openConnections(url: string): Promise<readonly [RedisConnection, RedisConnection]> {
  const connections = [connectRedis(url, 1), connectRedis(url, 2)] as const;
  await Promise.all(connections.map(({ client }) => once(client, 'ready')));
  return connections;
}

/** Logs on keys of their own, on a clock of the test. The server's expiry goes by its own clock and is not tested here. */
export async function openRedisBench(connections: readonly [RedisConnection, RedisConnection]): Promise<QuotaLogBench> {
  const keyPrefix = `test:${randomUUID()}:`;
  let nowMs = Date.UTC(2026, 0, 1);
  const startMs = nowMs;
  const [log, other] = connections.map(
    (connection) =>
      new RedisQuotaLog(connection, systemTimers, noLogger, { keyPrefix, stretchMs: 0, now: () => nowMs }),
  ) as [RedisQuotaLog, RedisQuotaLog];
  const { client } = connections[0];
  const settle = async (): Promise<void> => {
    await ask(log, [bucket('settle')]);
  };
  return Promise.resolve({
    log,
    other,
    now: () => nowMs - startMs,
    async advance(ms) {
      await settle();
      nowMs += ms;
    },
    settle,
    async close() {
      await Promise.all([log.close(), other.close()]);
      const keys = await (client as Redis).keys(`${keyPrefix}*`);
      if (keys.length > 0) await (client as Redis).del(...keys);
    },
  });
}

/** A connection on which the quota script is a changed one. */
export function withMutant(connection: RedisConnection, change: (source: string) => string): RedisConnection {
  const { source } = loadScript('quota');
  const mutant = change(source);
  if (mutant === source) throw new Error('the mutant is no other script');
  const client = connection.client as Redis;
  const changed = {
    evalsha: (_: string, count: number, ...rest: (string | number)[]) => client.eval(mutant, count, ...rest),
  };
  const run = <T>(name: string, command: (client: Redis | Cluster) => Promise<T>): Promise<T> =>
    connection.run(name, (real) => command(name === 'quota' ? (changed as unknown as Redis) : real));
  return {
    client,
    clustered: false,
    ready: () => connection.ready(),
    run,
    hear: (channel: string, listener: (message: string) => void) => connection.hear(channel, listener),
    onLost: (tell: () => void) => connection.onLost(tell),
    whenWorthTrying: (ms: number, task: () => void) => connection.whenWorthTrying(ms, task),
  } as unknown as RedisConnection;
}
