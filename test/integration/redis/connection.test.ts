import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { RedisClaimStore } from '../../../src/adapters/redis/claim-store.ts';
import { RedisConnection } from '../../../src/adapters/redis/client.ts';
import { redisFindings } from '../../../src/adapters/redis/findings.ts';
import { systemClock, systemTimers } from '../../../src/adapters/system/clock.ts';
import { only } from '../../support/only.ts';
import { connectRedis, redisMissing } from '../../support/redis.ts';
import { RememberingLogger } from '../../support/remembering-logger.ts';
import { LocalRedis } from '../../support/services/local-redis.ts';
import { noLogger, noMetrics } from '../../support/silent.ts';
import { seededRandom } from '../../support/virtual-time.ts';

/** Resolves at the event; unlike `once` it minds no errors before it. */
const seen = (client: RedisConnection['client'], event: 'ready' | 'close' | 'end'): Promise<void> =>
  new Promise((resolve) => void client.once(event, () => resolve()));

describe.skipIf(redisMissing !== '')(`a connection to Redis ${redisMissing}`, () => {
  let redis: LocalRedis | undefined;
  const start = async (...args: string[]): Promise<LocalRedis> => {
    redis = new LocalRedis({ args });
    await redis.start();
    return redis;
  };
  let closing: (() => Promise<void>)[] = [];
  beforeEach(() => {
    closing = [];
  });
  afterEach(async () => {
    await Promise.all(closing.map((close) => close()));
    await redis?.stop();
  });
  const connect = (url: string, seed?: number, cluster?: boolean): ReturnType<typeof connectRedis> => {
    const connection = connectRedis(url, seed, cluster);
    closing.push(() => connection.close());
    return connection;
  };

  it('S000-91: waits for answers as long as it is told while it works', async () => {
    const server = await start();
    const connection = connect(server.url);
    await once(connection.client, 'ready');
    /** Whether an answer that comes after half a second is waited for. */
    const isAnswered = (): Promise<boolean> =>
      connection
        .run('get', (client) => client.get('x'))
        .then(
          () => true,
          () => false,
        );
    const waits = async (): Promise<boolean> => {
      await expect.poll(isAnswered, { timeout: 10_000 }).toBe(true);
      server.pause();
      const resumed = sleep(500).then(() => server.resume());
      const answered = await isAnswered();
      await resumed;
      return answered;
    };
    expect(await waits()).toBe(false);
    connection.setTimeoutMs(5_000);
    expect(await waits()).toBe(true);
    connection.setTimeoutMs(250);
    expect(await waits()).toBe(false);
  });

  it('S004-29: comes back spread: after a restart of Redis no 100 ms see half of the eight clients', async () => {
    const server = await start();
    const clients = Array.from({ length: 8 }, (_, i) => connect(server.url, i + 1).client);
    await Promise.all(clients.map((client) => once(client, 'ready')));
    const backAtMs: number[] = [];
    const back = Promise.all(
      clients.map(async (client) => {
        await seen(client, 'ready');
        backAtMs.push(performance.now());
      }),
    );
    await server.restart();
    await back;
    const bins = new Map<number, number>();
    for (const atMs of backAtMs) {
      const bin = Math.floor((atMs - backAtMs[0]!) / 100);
      bins.set(bin, (bins.get(bin) ?? 0) + 1);
    }
    expect(Math.max(...bins.values())).toBeLessThan(4);
  });

  it('is found healthy by the doctor on a Redis as it should be', async () => {
    const connection = connect((await start()).url);
    await once(connection.client, 'ready');
    const findings = await redisFindings(connection, systemClock);
    expect(findings.map(({ name, ok }) => [name, ok])).toEqual([
      ['redis', true],
      ['redis-version', true],
      ['redis-eviction', true],
      ['redis-clock', true],
    ]);
  });

  it('shows the doctor a Redis that evicts, and clocks that differ', async () => {
    const connection = connect((await start('--maxmemory', '10mb', '--maxmemory-policy', 'allkeys-lru')).url);
    await once(connection.client, 'ready');
    const findings = await redisFindings(connection, { ...systemClock, wall: () => Date.now() + 5_000 });
    const eviction = findings.find(({ name }) => name === 'redis-eviction');
    expect(eviction).toMatchObject({ ok: false, message: 'maxmemory-policy is allkeys-lru' });
    expect(eviction?.cure).toContain('noeviction');
    const skew = findings.find(({ name }) => name === 'redis-clock');
    expect(skew).toMatchObject({ ok: false, message: expect.stringMatching(/(4|5)\d\d\d ms/) as string });
  });

  it('tells the doctor when there is none, and which address refused', async () => {
    const connection = connect('redis://127.0.0.1:1');
    await seen(connection.client, 'close');
    expect(await redisFindings(connection, systemClock)).toEqual([
      {
        ...{ name: 'redis', ok: false, message: 'Redis does not answer: connect ECONNREFUSED 127.0.0.1:1' },
        cure: expect.stringContaining('redis.url') as string,
      },
    ]);
  });

  it('says so when the password is missing, and never shows one', async () => {
    const server = await start();
    const admin = connect(server.url);
    await once(admin.client, 'ready');
    await admin.run('password', (client) => client.config('SET', 'requirepass', 'hunter2-secret'));
    const wrong = connect(server.url.replace('redis://', 'redis://:hunter3-secret@'));
    await expect
      .poll(async () => (await redisFindings(wrong, systemClock))[0]?.message, { timeout: 5_000, interval: 100 })
      .toMatch(/WRONGPASS|NOAUTH|does not answer/);
    expect(JSON.stringify(await redisFindings(wrong, systemClock))).not.toContain('hunter');
  });

  it('says nothing about a Redis that is away when it is closed before it was ready', async () => {
    const server = await start();
    const logger = new RememberingLogger();
    const connection = new RedisConnection({
      url: server.url,
      cluster: false,
      clock: systemClock,
      timers: systemTimers,
      random: seededRandom(1),
      logger,
      metrics: noMetrics,
    });
    const ended = seen(connection.client, 'end');
    await once(connection.client, 'connect');
    await connection.close();
    await ended;

    expect(logger.text).toBe('');
  });

  it('keeps all keys of a script in one slot on a cluster', async () => {
    const server = await start('--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1');
    const admin = connect(server.url);
    await once(admin.client, 'ready');
    const slots = Array.from({ length: 16_384 }, (_, slot) => slot);
    await admin.run('slots', (client) => client.call('CLUSTER', ['ADDSLOTS', ...slots]));
    await expect
      .poll(() => admin.run('info', (client) => client.call('CLUSTER', 'INFO')), { timeout: 10_000 })
      .toContain('cluster_state:ok');
    const connection = connect(server.url, 1, true);
    await once(connection.client, 'ready');
    const claims = new RedisClaimStore(connection, noLogger);
    const replies = await Promise.all(
      Array.from({ length: 500 }, (_, i) =>
        only(claims.claim({ id: `id-${i}`, origin: 'o', leaseMs: 1_000, ttlMs: 1_000, sent: false })),
      ),
    );
    expect(replies.every(({ kind }) => kind === 'granted')).toBe(true);
    claims.close();
  });
});
