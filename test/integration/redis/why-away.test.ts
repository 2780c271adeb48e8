import { once } from 'node:events';
import { connect } from 'node:net';

import { afterEach, beforeEach, expect, it } from 'vitest';

import { RedisConnection } from '../../../src/adapters/redis/client.ts';
import { systemClock, systemRandom, systemTimers } from '../../../src/adapters/system/clock.ts';
import { describeOnEachRedisProgram } from '../../support/redis.ts';
import { RememberingLogger } from '../../support/remembering-logger.ts';
import { LocalRedis } from '../../support/services/local-redis.ts';
import { noMetrics } from '../../support/silent.ts';

describeOnEachRedisProgram('the log of a connection to Redis says why it is away, and what to do', (program) => {
  let server: LocalRedis;
  let connection: RedisConnection;
  let log: RememberingLogger;
  const told = (): string[] =>
    log.lines.map(({ message, fields: { why } }) => (typeof why === 'string' ? `${message}: ${why}` : message));
  const cures = (): string => log.lines.map(({ fields }) => JSON.stringify(fields['cure'])).join('\n');
  const write = (): Promise<unknown> =>
    connection.run('write', (client) => client.set('a', '1')).catch((error: unknown) => error);
  const patience = { timeout: 15_000, interval: 100 };

  beforeEach(async () => {
    server = new LocalRedis({ program });
    await server.start();
    log = new RememberingLogger();
    const world = { clock: systemClock, timers: systemTimers, random: systemRandom, metrics: noMetrics };
    connection = new RedisConnection({ url: server.url, logger: log, ...world });
    await once(connection.client, 'ready');
  });
  afterEach(async () => {
    await connection.close();
    await server.stop();
  });

  it('where the server has become a replica, once, and is not back before it is a master again', async () => {
    await server.command('REPLICAOF 127.0.0.1 1');
    const untilMs = Date.now() + 8_000;
    while (Date.now() < untilMs) {
      await write();
      // A replica answers reads, also of who writes at other times: a script may only look.
      for (const name of ['read', 'write'])
        await connection.run(name, (client) => client.get('a')).catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(told()).toEqual([expect.stringMatching(/^Redis is away; what needs it waits: .*READONLY/)]);
    expect(cures()).toContain('this server has become a replica');
    await server.command('REPLICAOF NO ONE');
    await expect.poll(async () => (await write(), told().at(-1)), patience).toBe('Redis is back');
    expect(told()).toHaveLength(2);
  });

  it('where it is gone: once that, and once how it cannot be reached', async () => {
    await server.kill9();
    await expect
      .poll(told, patience)
      .toEqual(['Redis is away; what needs it waits: connection closed', expect.stringMatching(/ECONNREFUSED/)]);
    expect(cures()).toContain('check that Redis runs');
    await server.start();
    await expect.poll(() => told().at(-1), patience).toBe('Redis is back');
    expect(told()).toHaveLength(3);
  });

  it('where it closes every connection at once: that it may have too many', async () => {
    const other = connect(Number(new URL(server.url).port), '127.0.0.1');
    await once(other, 'connect');
    await server.command('CONFIG SET maxclients 1');
    connection.client.disconnect(true);
    await expect.poll(cures, patience).toContain('maxclients');
    other.destroy();
    await expect.poll(() => told().at(-1), patience).toBe('Redis is back');
  });
});
