import { once } from 'node:events';

import { afterEach, expect, it } from 'vitest';

import { RedisClaimStore } from '../../../src/adapters/redis/claim-store.ts';
import type { RedisConnection } from '../../../src/adapters/redis/client.ts';
import { only } from '../../support/only.ts';
import { connectRedis, describeOnEachRedisProgram } from '../../support/redis.ts';
import { LocalRedis } from '../../support/services/local-redis.ts';
import { noLogger } from '../../support/silent.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';

// Where one address leads to the master, as a load balancer, a floating address or DNS does: nothing tells a client that stays
// connected that it leads elsewhere by now.
describeOnEachRedisProgram('Redis behind an address that moves to its replica', (program) => {
  let closing: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closing.reverse()) await close();
    closing = [];
  });
  const start = async (): Promise<LocalRedis> => {
    const server = new LocalRedis({ program });
    closing.push(() => server.stop());
    await server.start();
    return server;
  };
  const portOf = ({ url }: LocalRedis): number => Number(new URL(url).port);
  /** Two servers, an address that leads to the first, and a connection over it. */
  const house = async () => {
    const [first, second, address] = [await start(), await start(), await TcpProxy.open()];
    closing.push(() => address.close());
    address.to(portOf(first));
    const connection = connectRedis(`redis://127.0.0.1:${address.port}`);
    closing.push(() => connection.close());
    await once(connection.client, 'ready');
    return { first, second, address, connection };
  };
  const claim = (connection: RedisConnection) => {
    const claims = new RedisClaimStore(connection, noLogger);
    closing.push(() => {
      claims.close();
      return Promise.resolve();
    });
    return only(claims.claim({ id: 'one', origin: 'o', leaseMs: 5_000, ttlMs: 60_000, sent: false }));
  };
  const told = async (server: LocalRedis): Promise<RedisConnection> => {
    const teller = connectRedis(server.url);
    closing.push(() => teller.close());
    await once(teller.client, 'ready');
    return teller;
  };

  it('leaves a server that has become a replica, and goes on where the address leads now', async () => {
    const { first, second, address, connection } = await house();
    await first.command(`REPLICAOF 127.0.0.1 ${portOf(second)}`);
    address.to(portOf(second));
    expect(await claim(connection)).toMatchObject({ kind: 'granted', fence: 1 });
    expect(connection.ready()).toBe(true);
  });

  it('counts a server that refuses the writes of a script as away, so that nothing is taken for written', async () => {
    const { first, second, connection } = await house();
    await first.command(`REPLICAOF 127.0.0.1 ${portOf(second)}`);
    void claim(connection);
    await expect.poll(() => connection.ready(), { timeout: 10_000, interval: 20 }).toBe(false);
  });

  it('gives up a connection whose server vanished without a word, and what it heard over another one, too', async () => {
    const { second, address, connection } = await house();
    const heard: string[] = [];
    connection.hear('news', (message) => heard.push(message));
    await expect
      .poll(async () => {
        await connection.run('tell', (client) => client.publish('news', 'before'));
        return heard.length;
      })
      .toBeGreaterThan(0);
    address.to(portOf(second));
    address.strand();
    expect(await claim(connection)).toMatchObject({ kind: 'granted', fence: 1 });
    const teller = await told(second);
    await expect
      .poll(
        async () => {
          await teller.run('tell', (client) => client.publish('news', 'after'));
          return heard.includes('after');
        },
        { timeout: 15_000, interval: 200 },
      )
      .toBe(true);
  });
});
