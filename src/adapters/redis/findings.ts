import { Cluster, type Redis } from 'ioredis';

import type { Clock } from '../../ports/clock.ts';

import type { RedisConnection } from './client.ts';
import { toLarkspurError } from './errors.ts';

/** One thing the doctor looked at. */
export interface RedisFinding {
  readonly name: string;
  readonly ok: boolean;
  readonly message: string;
  /** What to do; `''` when nothing is. */
  readonly cure: string;
}

const oldest = [6, 2] as const;
const skewLimitMs = 1000;

/**
 * Looks at what Larkspur needs of Redis: that it answers, version, eviction policy, replicas, clock. Never rejects.
 * @param replicas how many replicas claims are to wait for
 */
export async function redisFindings(
  connection: RedisConnection,
  clock: Clock,
  replicas = 0,
): Promise<readonly RedisFinding[]> {
  try {
    const { server, memory, seconds, attached } = await connection.run('doctor', async (client) => ({
      attached: await fewestReplicas(client),
      server: await client.info('server'),
      memory: await client.info('memory'),
      seconds: await client.time(),
    }));
    const policy = field(memory, 'maxmemory_policy');
    const skewMs = Math.abs(Number(seconds[0]) * 1000 + Number(seconds[1]) / 1000 - clock.wall());
    return [
      { name: 'redis', ok: true, message: 'Redis answers', cure: '' },
      versionFinding(field(server, 'redis_version')),
      {
        name: 'redis-eviction',
        ok: policy === 'noeviction',
        message: `maxmemory-policy is ${policy}`,
        cure:
          policy === 'noeviction'
            ? ''
            : 'set maxmemory-policy noeviction: an evicted claim lets a call take effect a second time',
      },
      ...replicaFindings(attached, replicas),
      {
        name: 'redis-clock',
        ok: skewMs <= skewLimitMs,
        message: `the clock of Redis differs by ${Math.round(skewMs)} ms`,
        cure:
          skewMs <= skewLimitMs ? '' : 'run NTP on both machines: cool-downs and deadlines are compared across them',
      },
    ];
  } catch (error) {
    // A command that could not be sent tells only that; the attempt to connect knows why.
    const away = toLarkspurError(error).code === 'redis_unavailable';
    const { message, cure = '' } = toLarkspurError(away ? (connection.trouble ?? error) : error);
    return [{ name: 'redis', ok: false, message, cure }];
  }
}

/** Replicas of the server, of a Cluster those of the master that has the fewest. */
async function fewestReplicas(client: Redis | Cluster): Promise<number> {
  const masters = client instanceof Cluster ? client.nodes('master') : [client];
  const infos = await Promise.all(masters.map((master) => master.info('replication')));
  return Math.min(...infos.map((info) => Number(field(info, 'connected_slaves'))));
}

function replicaFindings(attached: number, wanted: number): RedisFinding[] {
  const name = 'redis-replicas';
  if (wanted > attached) {
    const cure = 'attach them, or lower redis.replicas: calls without a platform key wait meanwhile';
    return [{ name, ok: false, message: `redis.replicas is ${wanted}, and there are ${attached}`, cure }];
  }
  if (wanted > 0) return [{ name, ok: true, message: `${attached} replicas, claims wait for ${wanted}`, cure: '' }];
  if (attached === 0) return [];
  const cure = 'set redis.replicas: 1: a failover may forget the last claims, and calls without a platform key repeat';
  return [{ name, ok: false, message: `${attached} replicas, and no claim waits for them`, cure }];
}

function versionFinding(version: string): RedisFinding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const ok = major > oldest[0] || (major === oldest[0] && minor >= oldest[1]);
  return { name: 'redis-version', ok, message: `Redis ${version}`, cure: ok ? '' : 'use Redis 6.2 or newer' };
}

function field(info: string, name: string): string {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? 'unknown';
}
