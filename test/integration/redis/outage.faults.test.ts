import { once } from 'node:events';

import { afterEach, describe, expect, it } from 'vitest';

import { RedisClaimStore } from '../../../src/adapters/redis/claim-store.ts';
import { ClaimsThroughOutage } from '../../../src/adapters/redis/claims-through-outage.ts';
import { systemClock, systemTimers } from '../../../src/adapters/system/clock.ts';
import type { ClaimRequest } from '../../../src/ports/claim-store.ts';
import { collect } from '../../support/collect.ts';
import { only } from '../../support/only.ts';
import { connectRedis, redisMissing } from '../../support/redis.ts';
import { LocalRedis } from '../../support/services/local-redis.ts';
import { noLogger, noMetrics } from '../../support/silent.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';

// Generous: two cores carry other suites too. Nothing here waits longer than it must.
const patient = { timeout: 30_000, interval: 20 };
const keyed: ClaimRequest = {
  id: 'k',
  origin: 'o',
  leaseMs: 2_000,
  ttlMs: 60_000,
  sent: true,
  withoutStoreMs: 600_000,
};
const unkeyed: ClaimRequest = { ...keyed, id: 'u', withoutStoreMs: 0 };

describe.skipIf(redisMissing !== '')(`a worker's claims when Redis ${redisMissing}`, () => {
  const closing: (() => Promise<void> | void)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  const redis = async (...args: string[]): Promise<LocalRedis> => {
    const server = new LocalRedis({ args });
    closing.push(() => server.stop());
    await server.start();
    return server;
  };
  const worker = async (url: string) => {
    const connection = connectRedis(url);
    const store = new RedisClaimStore(connection, noLogger);
    const parts = { clock: systemClock, timers: systemTimers, log: noLogger, metrics: noMetrics };
    const claims = new ClaimsThroughOutage(store, parts);
    closing.push(async () => {
      claims.close();
      store.close();
      await connection.close();
    });
    await once(connection.client, 'ready');
    const ask = (request: ClaimRequest) => only(claims.claim(request));
    const end = (id: string, fence: number, result = 'done') =>
      only(claims.finish({ claim: { id, fence }, state: 'PROCESSED', result, delayMs: 0, ttlMs: 60_000 }));
    return { claims, store, ask, end };
  };

  it('is away and comes back empty: keyed calls go on and are written down, the others wait', async () => {
    const server = await redis();
    const { ask, end, claims, store } = await worker(server.url);
    expect(await ask({ ...keyed, id: 'before' })).toMatchObject({ kind: 'granted', fence: 1 });
    await server.kill9();
    expect(await ask(keyed)).toMatchObject({ kind: 'granted', fence: -1 });
    const waits = collect(claims.claim(unkeyed));
    expect(await end('k', -1)).toBe(true);
    expect(await end('before', 1, 'b')).toBe(true);
    expect(await ask({ ...keyed, origin: 'other' })).toEqual({ kind: 'processed', origin: 'o', result: 'done' });
    expect(claims.ready()).toBe(false);
    expect(waits.values).toEqual([]);

    await server.start();
    await expect.poll(() => waits.values, patient).toMatchObject([{ kind: 'granted', fence: 1 }]);
    for (const [id, result] of [
      ['k', 'done'],
      ['before', 'b'],
    ] as const) {
      await expect.poll(() => only(store.view(id)), patient).toEqual({ kind: 'processed', origin: 'o', result });
    }
    expect(claims.ready()).toBe(true);
  });

  it('fails over to its replica: what was claimed and ended before is known there', async () => {
    const primary = await redis();
    const replica = await redis();
    await replica.command(`REPLICAOF 127.0.0.1 ${new URL(primary.url).port}`);
    const proxy = await TcpProxy.open();
    closing.push(() => proxy.close());
    proxy.to(Number(new URL(primary.url).port));
    const { ask, end } = await worker(`redis://127.0.0.1:${proxy.port}`);
    expect(await ask({ ...unkeyed, id: 'done' })).toMatchObject({ kind: 'granted', fence: 1 });
    expect(await end('done', 1)).toBe(true);
    expect(await ask({ ...unkeyed, id: 'open', leaseMs: 30_000 })).toMatchObject({ kind: 'granted', fence: 1 });
    const probe = connectRedis(replica.url);
    closing.push(() => probe.close());
    const keys = async (): Promise<number> =>
      probe.client.status === 'ready' ? (probe.client as never as Sized).dbsize() : 0;
    await expect.poll(keys, patient).toBe(2);

    await primary.kill9();
    await replica.command('REPLICAOF NO ONE');
    proxy.to(Number(new URL(replica.url).port));
    expect(await ask({ ...unkeyed, id: 'done', origin: 'p' })).toEqual({
      kind: 'processed',
      origin: 'o',
      result: 'done',
    });
    expect(await ask({ ...unkeyed, id: 'open', origin: 'p' })).toMatchObject({ kind: 'pending' });
    expect(await end('open', 1)).toBe(true);
  });
});

interface Sized {
  dbsize(): Promise<number>;
}
