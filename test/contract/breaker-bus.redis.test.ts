import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import { afterAll, beforeAll, expect, it, vi } from 'vitest';

import { RedisBreakerBus } from '../../src/adapters/redis/breaker-bus.ts';
import type { RedisConnection } from '../../src/adapters/redis/client.ts';
import type { BreakerNews } from '../../src/ports/breaker-bus.ts';
import { only } from '../support/only.ts';
import { openConnections } from '../support/quota/redis-quota-bench.ts';
import { describeWithEachRedis } from '../support/services/provided.ts';

import { breakerBusSuite, tell } from './breaker-bus.suite.ts';

const key = 'news.internal/news';
const opened: BreakerNews = { kind: 'opened', upstream: 'news', key, forMs: 5_000 };

describeWithEachRedis('what workers share about breakers, on Redis', (url) => {
  let connections: readonly [RedisConnection, RedisConnection];
  beforeAll(async () => {
    connections = await openConnections(url);
  });
  afterAll(async () => {
    await Promise.all(connections.map((connection) => connection.close()));
  });
  const two = () => {
    const prefix = `t${randomUUID().slice(0, 8)}:`;
    const [a, b] = connections;
    return {
      prefix,
      a: new RedisBreakerBus(a, prefix),
      b: new RedisBreakerBus(b, prefix),
      wait: (ms: number) => sleep(ms),
    };
  };

  breakerBusSuite('Redis', two);

  it('takes nothing for news that is none', async () => {
    const { prefix, a, b } = two();
    const heard: BreakerNews[] = [];
    b.news$.subscribe({ next: (news) => heard.push(news), error: (error: unknown) => expect.fail(String(error)) });
    await vi.waitFor(async () => {
      await tell(a, opened);
      expect(heard[0]).toEqual(opened);
    });
    const { client } = connections[1];
    for (const junk of ['', '{', '[]', '{"kind":"opened","upstream":"news","key":"k","forMs":-1}', '{"kind":"x"}']) {
      await client.publish(`${prefix}breakers`, junk);
    }
    const probed: BreakerNews = { kind: 'probed', upstream: 'news', key, good: true };
    await tell(a, probed);
    await vi.waitFor(() => expect(heard.at(-1)).toEqual(probed));
    expect(heard.every((news) => news.kind === 'probed' || news.forMs === 5_000)).toBe(true);
  });

  it('lets each worker probe, and tells nobody, when Redis cannot be asked', async () => {
    const gone = await openConnections(url);
    const bus = new RedisBreakerBus(gone[0], 't:');
    await Promise.all(gone.map((connection) => connection.close()));
    expect(await only(bus.takeProbe('news', key, 60_000))).toBe(true);
    expect(await tell(bus, { ...opened, forMs: 1 })).toEqual([]);
  });
});
