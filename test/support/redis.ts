import { once } from 'node:events';

import { describe } from 'vitest';

import { RedisClaimStore } from '../../src/adapters/redis/claim-store.ts';
import { RedisConnection } from '../../src/adapters/redis/client.ts';
import { systemClock, systemTimers } from '../../src/adapters/system/clock.ts';

import { redisLines, redisProgram } from './services/redis-programs.ts';
import { noLogger, noMetrics } from './silent.ts';
import { seededRandom } from './virtual-time.ts';

/** Why no Redis of our own can be started here, or `''`. */
export const redisMissing = await redisProgram().then(
  () => '',
  (error: unknown) => (error instanceof Error ? error.message : String(error)),
);

const programs = await Promise.all(
  redisLines.map((line) =>
    redisProgram(line).catch((error: unknown) => ({ line, missing: error instanceof Error ? error.message : '' })),
  ),
);

/** A suite that starts servers of its own, once with the program of each line of Redis, named in the title. */
export function describeOnEachRedisProgram(title: string, suite: (program: string) => void): void {
  for (const found of programs) {
    const missing = 'missing' in found;
    const name = missing ? `Redis ${found.line} (skipped: ${found.missing})` : `Redis ${found.version}`;
    describe.skipIf(missing)(`${title}, ${name}`, () => {
      suite(missing ? 'redis-server' : found.program);
    });
  }
}

/** A connection with the defaults, on the machine's own time; not yet connected. */
export function connectRedis(url: string, seed = 1, cluster = false): RedisConnection {
  const machine = { clock: systemClock, timers: systemTimers, random: seededRandom(seed) };
  return new RedisConnection({ url, cluster, ...machine, logger: noLogger, metrics: noMetrics });
}

/** A connection that is ready, and a claim store on it. */
export async function openClaims(url: string): Promise<{ connection: RedisConnection; claims: RedisClaimStore }> {
  const connection = connectRedis(url);
  await once(connection.client, 'ready');
  return { connection, claims: new RedisClaimStore(connection, noLogger) };
}
