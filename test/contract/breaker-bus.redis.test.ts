import { randomUUID } from 'node:crypto';

import { lastValueFrom, toArray } from 'rxjs';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';

import { RedisBreakerBus } from '../../src/adapters/redis/breaker-bus.ts';
import type { RedisConnection } from '../../src/adapters/redis/client.ts';
import type { BreakerNews } from '../../src/ports/breaker-bus.ts';
import { only } from '../support/only.ts';
import { openConnections } from '../support/quota/redis-quota-bench.ts';
import { describeWithEachRedis } from '../support/services/provided.ts';

const key = 'news.internal/news';

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
    const buses = connections.map((connection) => new RedisBreakerBus(connection, prefix));
    return { prefix, a: buses[0]!, b: buses[1]! };
  };
  const tell = (bus: RedisBreakerBus, news: BreakerNews) => lastValueFrom(bus.tell(news).pipe(toArray()));

  it('tells the others, not the one who tells, and takes nothing for news that is none', async () => {
    const { prefix, a, b } = two();
    const heard = { a: [] as BreakerNews[], b: [] as BreakerNews[] };
    a.news$.subscribe({ next: (news) => heard.a.push(news), error: (error: unknown) => expect.fail(String(error)) });
    b.news$.subscribe({ next: (news) => heard.b.push(news), error: (error: unknown) => expect.fail(String(error)) });
    const opened: BreakerNews = { kind: 'opened', upstream: 'news', key, forMs: 5_000 };
    const probed: BreakerNews = { kind: 'probed', upstream: 'news', key, good: true };
    await vi.waitFor(async () => {
      await tell(a, opened);
      expect(heard.b[0]).toEqual(opened);
    });
    const { client } = connections[1];
    for (const junk of ['', '{', '[]', '{"kind":"opened","upstream":"news","key":"k","forMs":-1}', '{"kind":"x"}']) {
      await client.publish(`${prefix}breakers`, junk);
    }
    await tell(a, probed);
    await vi.waitFor(() => expect(heard.b.at(-1)).toEqual(probed));
    expect(heard.b.every((news) => news.kind === 'probed' || news.forMs === 5_000)).toBe(true);
    expect(heard.a).toEqual([]);
  });

  it('gives a probe to one of them at a time, and to the next soon after it was told of', async () => {
    const { prefix, a, b } = two();
    expect(await only(a.takeProbe('news', key, 60_000))).toBe(true);
    expect(await only(b.takeProbe('news', key, 60_000))).toBe(false);
    expect(await only(b.takeProbe('stock', key, 60_000))).toBe(true);
    await tell(a, { kind: 'probed', upstream: 'news', key, good: false });
    expect(await connections[0].client.pttl(`${prefix}probe:news|${key}`)).toBeLessThanOrEqual(500);
  });

  it('lets each worker probe, and tells nobody, when Redis cannot be asked', async () => {
    const gone = await openConnections(url);
    const bus = new RedisBreakerBus(gone[0], 't:');
    await Promise.all(gone.map((connection) => connection.close()));
    expect(await only(bus.takeProbe('news', key, 60_000))).toBe(true);
    expect(await tell(bus, { kind: 'opened', upstream: 'news', key, forMs: 1 })).toEqual([]);
  });
});
