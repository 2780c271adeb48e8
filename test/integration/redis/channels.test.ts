import { afterEach, describe, expect, it } from 'vitest';

import { RedisConnection } from '../../../src/adapters/redis/client.ts';
import { systemClock } from '../../../src/adapters/system/clock.ts';
import { redisMissing } from '../../support/redis.ts';
import { RememberingLogger } from '../../support/remembering-logger.ts';
import { LocalRedis } from '../../support/services/local-redis.ts';
import { noMetrics } from '../../support/silent.ts';
import { seededRandom, VirtualTime } from '../../support/virtual-time.ts';

describe.skipIf(redisMissing !== '')(`a connection to Redis whose user may not hear a channel ${redisMissing}`, () => {
  let server: LocalRedis;
  let connection: RedisConnection;
  afterEach(async () => {
    await connection.close();
    await server.stop();
  });

  const channel = 'larkspur:cancelled';
  /** A connection of the user `deaf`, who may hear what stands in `rights`. */
  const hearing = async (rights: string) => {
    server = new LocalRedis();
    await server.start();
    await server.command(`ACL SETUSER deaf on >pw ~* +@all resetchannels ${rights}`);
    const logger = new RememberingLogger();
    const time = new VirtualTime();
    connection = new RedisConnection({
      url: server.url.replace('redis://', 'redis://deaf:pw@'),
      ...{ clock: systemClock, timers: time, random: seededRandom(1), logger, metrics: noMetrics },
    });
    const told = (of = channel) => logger.lines.filter(({ fields }) => fields['channel'] === of);
    return { time, told };
  };

  it('says which one, and what to do, once, and hears it as soon as it may', async () => {
    const { time, told } = await hearing('');
    const heard: string[] = [];
    connection.hear(channel, (message) => heard.push(message));
    await expect
      .poll(() => told()[0], { timeout: 5_000 })
      .toMatchObject({
        level: 'error',
        fields: { cure: expect.stringContaining(`&${channel}`) as string },
      });
    const askAgain = async (): Promise<void> => {
      await expect.poll(() => time.pending, { timeout: 5_000 }).toBe(1);
      time.advance(10_000);
    };
    await askAgain();
    await askAgain();
    await expect.poll(() => time.pending, { timeout: 5_000 }).toBe(1);
    expect(told()).toHaveLength(1);

    await server.command(`ACL SETUSER deaf &${channel}`);
    await askAgain();
    await expect.poll(() => told().at(-1)?.level, { timeout: 5_000 }).toBe('info');
    await server.command(`PUBLISH ${channel} c1`);
    await expect.poll(() => heard, { timeout: 5_000 }).toEqual(['c1']);
    expect(time.pending).toBe(0);
  });

  it('any more says so, and goes on hearing the others', async () => {
    const other = 'larkspur:breakers';
    const { told } = await hearing(`&${channel} &${other}`);
    const heard: string[] = [];
    for (const name of [channel, other]) connection.hear(name, (message) => heard.push(message));
    const said = async (name: string): Promise<string[]> => {
      await server.command(`PUBLISH ${name} ${name}`);
      return heard;
    };
    await expect.poll(() => said(channel), { timeout: 5_000 }).toContain(channel);
    // Redis ends the connections of those who hear what they may not hear any more.
    await server.command(`ACL SETUSER deaf resetchannels &${other}`);
    await expect.poll(() => told()[0]?.level, { timeout: 10_000 }).toBe('error');
    heard.length = 0;
    await expect.poll(() => said(other), { timeout: 5_000 }).toContain(other);
    expect(await said(channel)).not.toContain(channel);
    expect(told(other)).toEqual([]);
  });
});
