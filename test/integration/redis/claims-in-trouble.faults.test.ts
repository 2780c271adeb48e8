import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { RedisClaimStore } from '../../../src/adapters/redis/claim-store.ts';
import type { RedisConnection } from '../../../src/adapters/redis/client.ts';
import type { Claim, ClaimReply } from '../../../src/ports/claim-store.ts';
import { collect } from '../../support/collect.ts';
import { only } from '../../support/only.ts';
import { openClaims, redisMissing } from '../../support/redis.ts';
import { LocalRedis } from '../../support/services/local-redis.ts';

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe.skipIf(redisMissing !== '')(`claims while Redis is in trouble ${redisMissing}`, () => {
  let redis: LocalRedis;
  let connection: RedisConnection;
  let claims: RedisClaimStore;

  beforeEach(async () => {
    redis = new LocalRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
    await redis.start();
    ({ connection, claims } = await openClaims(redis.url));
  });
  afterEach(async () => {
    claims.close();
    await connection.close();
    await redis.stop();
  });

  const ask = (id: string): Promise<ClaimReply> =>
    only(claims.claim({ id, origin: `o-${id}`, leaseMs: 30_000, ttlMs: 60_000, sent: true }));
  const end = (claim: Claim): Promise<boolean> =>
    only(claims.finish({ claim, state: 'PROCESSED', result: 'done', delayMs: 0, ttlMs: 60_000 }));
  const first = { kind: 'granted', fence: 1, firstSentAgoMs: undefined, takeovers: 0 };

  it('wait through a kill -9 and a restart, and go on with what was claimed before', async () => {
    expect(await ask('before')).toEqual(first);
    await redis.kill9();
    const waiting = Promise.all([ask('during'), end({ id: 'before', fence: 1 }), only(claims.view('nobody'))]);
    await sleep(500);
    await redis.start();
    expect(await waiting).toEqual([first, true, { kind: 'unknown' }]);
    expect(await ask('before')).toEqual({ kind: 'processed', origin: 'o-before', result: 'done' });
  });

  it('are granted and finished once when Redis froze over them and their replies were lost', async () => {
    await ask('before');
    redis.pause();
    const waiting = Promise.all([ask('frozen'), end({ id: 'before', fence: 1 })]);
    // Longer than the command timeout: the scripts run after the thaw, for callers that have given them up.
    await sleep(1_000);
    expect(claims.ready()).toBe(false);
    redis.resume();
    expect(await waiting).toEqual([first, true]);
    expect(await ask('before')).toMatchObject({ kind: 'processed' });
    expect(
      await only(claims.finish({ claim: { id: 'before', fence: 1 }, state: 'DEAD', result: '', delayMs: 0, ttlMs: 1 })),
    ).toBe(false);
  });

  it('cost nobody more than the command timeout while Redis is frozen, and nothing once it counts as away', async () => {
    redis.pause();
    const askOnce = async (): Promise<number> => {
      const startMs = performance.now();
      await expect(connection.run('ping', (client) => client.ping())).rejects.toMatchObject({
        code: 'redis_unavailable',
        retryable: true,
      });
      return performance.now() - startMs;
    };
    for (let i = 0; i < 3; i++) expect(await askOnce()).toBeLessThan(600);
    for (let i = 0; i < 20; i++) expect(await askOnce()).toBeLessThan(20);
    expect(claims.ready()).toBe(false);
    redis.resume();
    expect(await ask('after')).toEqual(first);
    expect(claims.ready()).toBe(true);
  });

  it('go on when Redis has forgotten the scripts', async () => {
    await ask('before');
    await connection.run('flush', (client) => client.script('FLUSH'));
    expect(await Promise.all(Array.from({ length: 200 }, (_, i) => ask(`after-${i}`)))).toEqual(
      Array.from({ length: 200 }, () => first),
    );
  });

  it('are given back at once when their claimant has gone before the answer came', async () => {
    const gone = collect(claims.claim({ id: 'left', origin: 'o', leaseMs: 30_000, ttlMs: 60_000, sent: false }));
    // The batch leaves in the next turn; its reply takes longer than that.
    await new Promise((resolve) => setImmediate(resolve));
    gone.subscription.unsubscribe();
    await expect.poll(() => ask('left'), { timeout: 2_000 }).toMatchObject({ kind: 'granted', fence: 2, takeovers: 0 });
  });

  it('are given back when Redis is well again and their claimant went while the answer was lost', async () => {
    // So that Redis knows the script and runs it after the thaw.
    await ask('before');
    redis.pause();
    const gone = collect(claims.claim({ id: 'lost', origin: 'o', leaseMs: 30_000, ttlMs: 60_000, sent: true }));
    // Asked three times by now, and not to be asked again for a while.
    await expect.poll(() => claims.ready(), { timeout: 5_000 }).toBe(false);
    gone.subscription.unsubscribe();
    redis.resume();
    await expect.poll(() => ask('lost'), { timeout: 5_000 }).toMatchObject({ kind: 'granted', takeovers: 0 });
  });

  it('are never sent for a claimant that left before the batch went', async () => {
    collect(
      claims.claim({ id: 'never', origin: 'o', leaseMs: 30_000, ttlMs: 60_000, sent: false }),
    ).subscription.unsubscribe();
    await ask('other');
    expect(await only(claims.view('never'))).toEqual({ kind: 'unknown' });
  });
});
