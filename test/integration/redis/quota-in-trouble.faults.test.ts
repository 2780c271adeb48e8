import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { RedisQuotaLog } from '../../../src/adapters/redis/quota-log.ts';
import { systemClock, systemTimers } from '../../../src/adapters/system/clock.ts';
import { SharedLimiter } from '../../../src/operators/limit/shared-limiter.ts';
import type { Taken } from '../../../src/operators/limit/taken.ts';
import type { LimitKey } from '../../../src/ports/profile.ts';
import { only } from '../../support/only.ts';
import { ask, bucket } from '../../support/quota/quota-bench.ts';
import { connectRedis, redisMissing } from '../../support/redis.ts';
import { LocalRedis } from '../../support/services/local-redis.ts';
import { noLogger } from '../../support/silent.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

const patiently = { timeout: 30_000, interval: 20 };
const tier = bucket('tier', [50, 1_000]);

describe.skipIf(redisMissing !== '')(`quota on a real Redis ${redisMissing}`, () => {
  let redis: LocalRedis;
  const closes: (() => Promise<void>)[] = [];

  beforeEach(async () => {
    redis = new LocalRedis();
    await redis.start();
  });
  afterEach(async () => {
    for (const close of closes.splice(0).reverse()) await close();
    await redis.stop();
  });

  /** One process: its own connection, log and limiter. */
  async function join(seed: number): Promise<{ log: RedisQuotaLog; limiter: SharedLimiter }> {
    const connection = connectRedis(redis.url, seed);
    await once(connection.client, 'ready');
    const log = new RedisQuotaLog(connection, systemTimers, noLogger);
    closes.push(async () => {
      await log.close();
      await connection.close();
    });
    await expect.poll(() => log.ready(), patiently).toBe(true);
    return { log, limiter: new SharedLimiter({ log, clock: systemClock, timers: systemTimers }) };
  }

  async function start(limiter: SharedLimiter, limits: readonly LimitKey[], appointed = false): Promise<Taken> {
    const taken = limiter.take(limits, systemClock.now(), appointed);
    return taken.kind === 'ask' ? only(limiter.ask(limits)) : taken;
  }

  it('S16: four processes that want more than there is are granted all of it, in few round trips', async () => {
    const processes = await Promise.all([1, 2, 3, 4].map(join));
    const startedMs = performance.now();
    const grants: number[] = [];
    // A caller comes back when it was told to, and has its own start then, if it was given one.
    const callers = processes.flatMap(({ limiter }) => Array.from({ length: 10 }, () => limiter));
    await Promise.all(
      callers.map(async (limiter) => {
        let appointed = false;
        while (performance.now() - startedMs < 4_000) {
          const taken = await start(limiter, [tier], appointed);
          appointed = taken.kind === 'wait' && taken.appointed === true;
          if (taken.kind === 'granted') grants.push(taken.grant.stamp ?? 0);
          if (taken.kind === 'wait') await sleep(Math.max(1, taken.untilMs - systemClock.now()));
        }
      }),
    );
    const stamps = grants.filter((stamp) => stamp > 0).sort((a, b) => a - b);
    expect(stamps.filter((stamp, n) => stamp - (stamps[n - 50] ?? -Infinity) < 1_040_000)).toEqual([]);
    expect(grants.length).toBeGreaterThanOrEqual(150);
    const roundTrips = processes.reduce((sum, { log }) => sum + log.roundTrips, 0);
    expect(roundTrips * 3).toBeLessThanOrEqual(grants.length);
  });

  it('lets an ask wait for others as long as it said, also behind what needs no answer and may wait for longer', async () => {
    const time = new VirtualTime();
    const connection = connectRedis(redis.url, 1);
    closes.push(() => connection.close());
    await once(connection.client, 'ready');
    const log = new RedisQuotaLog(connection, time, noLogger);
    await expect.poll(() => log.ready(), patiently).toBe(true);
    log.giveBack([tier], [1]);
    const answer = only(log.take({ limits: [tier], want: () => 1, patienceMs: 8 }));
    time.advance(8);
    expect(await answer).toMatchObject({ kind: 'answer', granted: 1 });
    await log.close();
  });

  it('knows how many processes there are, and of one that left', async () => {
    const { log } = await join(1);
    await join(2);
    const third = await join(3);
    expect(third.log.fleet().replicas).toBe(3);
    expect(log.fleet().epoch).toBe(third.log.fleet().epoch);
    await closes.pop()?.();
    const fourth = await join(4);
    expect(fourth.log.fleet().replicas).toBe(3);
  });

  it('answers within its time limit while Redis is frozen, and at once when it is killed; then it is asked again', async () => {
    const { log, limiter } = await join(1);
    await ask(log, [tier]);
    redis.pause();
    const askedMs = performance.now();
    expect(await only(log.take({ limits: [tier], want: () => 1 }))).toEqual({ kind: 'away' });
    expect(performance.now() - askedMs).toBeLessThan(2_000);
    expect(log.ready()).toBe(false);
    redis.resume();
    await expect.poll(() => log.ready(), patiently).toBe(true);

    await redis.kill9();
    const { epoch } = log.fleet();
    await expect.poll(async () => (await start(limiter, [tier])).kind, patiently).toBe('granted');
    expect(limiter.snapshot(systemClock.now()).splitAmong).toBe(1);
    await redis.start();
    await expect.poll(() => log.ready(), patiently).toBe(true);
    expect(log.fleet().epoch).not.toBe(epoch);
  });

  it('lets a bucket rest on all processes with the next ask, and goes on when Redis has forgotten the script', async () => {
    const [one, two] = [await join(1), await join(2)];
    one.limiter.refused(tier, 60_000, systemClock.now());
    await expect.poll(async () => (await start(two.limiter, [tier])).kind, patiently).toBe('wait');
    expect(two.limiter.earliestMs([tier], systemClock.now()).atMs - systemClock.now()).toBeGreaterThan(30_000);
    const connection = connectRedis(redis.url);
    await once(connection.client, 'ready');
    await connection.run('flush', (client) => client.script('FLUSH'));
    await connection.close();
    expect(await ask(one.log, [bucket('other', [5, 1_000])])).toMatchObject({ granted: 1 });
  });

  it('gives one sign of life each ten seconds, also after one was lost together with a step', async () => {
    const connection = connectRedis(redis.url);
    await once(connection.client, 'ready');
    const time = new VirtualTime();
    const log = new RedisQuotaLog(connection, time, noLogger);
    closes.push(async () => {
      await log.close();
      await connection.close();
    });
    await expect.poll(() => log.ready(), patiently).toBe(true);
    redis.pause();
    // The step goes first, so that it is given up while the sign is still waited for.
    const away = only(log.take({ limits: [tier], want: () => 1 }));
    await sleep(20);
    time.advance(10_000);
    expect(await away).toEqual({ kind: 'away' });
    await sleep(400);
    redis.resume();
    await expect.poll(() => log.ready(), patiently).toBe(true);
    await sleep(1_000);
    const before = log.roundTrips;
    time.advance(10_000);
    await sleep(500);
    expect(log.roundTrips - before).toBe(1);
  });
});
