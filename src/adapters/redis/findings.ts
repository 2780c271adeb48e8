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

/** Looks at what Larkspur needs of Redis: that it answers, version, eviction policy, clock. Never rejects. */
export async function redisFindings(connection: RedisConnection, clock: Clock): Promise<readonly RedisFinding[]> {
  try {
    const { server, memory, seconds } = await connection.run('doctor', async (client) => ({
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
      {
        name: 'redis-clock',
        ok: skewMs <= skewLimitMs,
        message: `the clock of Redis differs by ${Math.round(skewMs)} ms`,
        cure:
          skewMs <= skewLimitMs ? '' : 'run NTP on both machines: cool-downs and deadlines are compared across them',
      },
    ];
  } catch (error) {
    const { message, cure = '' } = toLarkspurError(error);
    return [{ name: 'redis', ok: false, message, cure }];
  }
}

function versionFinding(version: string): RedisFinding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const ok = major > oldest[0] || (major === oldest[0] && minor >= oldest[1]);
  return { name: 'redis-version', ok, message: `Redis ${version}`, cure: ok ? '' : 'use Redis 6.2 or newer' };
}

function field(info: string, name: string): string {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? 'unknown';
}
