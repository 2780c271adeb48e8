import { once } from 'node:events';

import { RedisClaimStore } from '../../src/adapters/redis/claim-store.ts';
import { RedisConnection } from '../../src/adapters/redis/client.ts';
import { systemClock, systemRandom, systemTimers } from '../../src/adapters/system/clock.ts';
import type { ClaimStore } from '../../src/ports/claim-store.ts';
import { atLeast, atMost, type Report, reportOf } from '../../src/runtime/report.ts';
import { only } from '../support/only.ts';
import { startServices } from '../support/services/services.ts';
import { noLogger, noMetrics } from '../support/silent.ts';

import type { BenchOptions } from './main.ts';

const usualCalls = 50_000;
const inFlight = 512;
const leaseMs = 30_000;
const ttlMs = 60_000;
// About what a result is.
const result = 'x'.repeat(600);

/** Claim and finish, a pair per call, on one Redis from one process: at least 10,000 pairs a second. */
export async function claimsReport(options: BenchOptions): Promise<Report> {
  const services = await startServices();
  try {
    if ('missing' in services.redis) throw new Error(`the bench needs a real Redis: ${services.redis.missing}`);
    return await claimsOn(services.redis.url, options);
  } finally {
    await services.stop();
  }
}

/** The same on a Redis that runs already. */
export async function claimsOn(url: string, { calls, rounds, tell }: BenchOptions): Promise<Report> {
  const count = calls > 0 ? calls : usualCalls;
  const world = {
    clock: systemClock,
    timers: systemTimers,
    random: systemRandom,
    logger: noLogger,
    metrics: noMetrics,
  };
  const connection = new RedisConnection({ ...world, url, commandTimeoutMs: 5_000 });
  const store = new RedisClaimStore(connection, noLogger, { keyPrefix: `bench-${process.pid}-${Date.now()}:` });
  try {
    if (!connection.ready()) await once(connection.client, 'ready');
    const rates: number[] = [];
    let refused = 0;
    for (let round = 1; round <= rounds; round++) {
      const startedMs = performance.now();
      refused += await pairs(store, `r${round}`, count);
      const rate = (count / (performance.now() - startedMs)) * 1_000;
      rates.push(rate);
      tell(`round ${round}: ${Math.round(rate)} pairs/s`);
    }
    const median = rates.toSorted((a, b) => a - b)[Math.floor((rates.length - 1) / 2)] ?? NaN;
    const bars = [atLeast('pairsPerSecond', Math.round(median), 10_000), atMost('refused', refused, 0)];
    return reportOf('claims', bars, { calls: count, rounds, inFlight });
  } finally {
    store.close();
    await connection.close();
  }
}

/** Claims and finishes `count` calls, some hundreds at a time. @returns how many were not granted or not finished */
async function pairs(store: ClaimStore, prefix: string, count: number): Promise<number> {
  let next = 0;
  let refused = 0;
  const lane = async (): Promise<void> => {
    while (next < count) {
      const id = `${prefix}-${next++}`;
      const reply = await only(store.claim({ id, origin: id, leaseMs, ttlMs, sent: true }));
      const fence = reply.kind === 'granted' ? reply.fence : 0;
      const ending = { state: 'PROCESSED', result, delayMs: 0, ttlMs } as const;
      if (!(await only(store.finish({ claim: { id, fence }, ...ending })))) refused++;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
  return refused;
}
