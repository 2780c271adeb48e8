import { once } from 'node:events';

import { RedisConnection } from '../../../src/adapters/redis/client.ts';
import { systemClock, systemRandom, systemTimers } from '../../../src/adapters/system/clock.ts';
import { atLeast, atMost, type Report, reportOf } from '../../../src/runtime/report.ts';
import { startServices } from '../../support/services/services.ts';
import { noLogger, noMetrics } from '../../support/silent.ts';
import { seededRandom } from '../../support/virtual-time.ts';
import type { BenchOptions } from '../main.ts';

import { Reader, type Tiers } from './reader.ts';

const usualReads = 400_000;
const questions = 10_000;
// A tenth of the questions fits the memory of a process: the rest is for Redis.
const nearEntries = 1_000;
const inFlight = 64;
const hotPerSecond = 50_000;
const hotSeconds = 5;
// As short as a read cache is worth while: the shorter, the more often Redis is asked.
const hotTtlMs = 1_000;

/**
 * Reads through memory, Redis and a source. Two processes with small memories, on questions of which few are asked often
 * (Zipf); then one question, 50,000 times a second. `--calls` is the number of reads of the first part.
 */
export async function cacheReport(options: BenchOptions): Promise<Report> {
  const services = await startServices();
  try {
    if ('missing' in services.redis) throw new Error(`the bench needs a real Redis: ${services.redis.missing}`);
    return await cacheOn(services.redis.url, options);
  } finally {
    await services.stop();
  }
}

/** The same on a Redis that runs already. */
export async function cacheOn(url: string, { calls, tell }: BenchOptions): Promise<Report> {
  const world = { clock: systemClock, timers: systemTimers, random: systemRandom, logger: noLogger };
  const redis = new RedisConnection({ ...world, metrics: noMetrics, url, commandTimeoutMs: 5_000 });
  const prefix = `bench-${process.pid}-${Date.now()}:`;
  try {
    if (!redis.ready()) await once(redis.client, 'ready');
    const zipf = await zipfReads(redis, `${prefix}zipf:`, calls > 0 ? calls : usualReads);
    tell(`zipf ${JSON.stringify(zipf)}`);
    const hot = await hotReads(redis, `${prefix}hot:`);
    tell(`hot  ${JSON.stringify(hot)}`);
    const reads = zipf.memory + zipf.redis + zipf.source;
    const bars = [
      atLeast('firstTwoTiers', round((zipf.memory + zipf.redis) / reads), 0.95),
      atLeast('hotReadsPerSecond', Math.round(hot.reads / hot.seconds), 0.95 * hotPerSecond),
      atMost('hotRedisReadsPerSecond', round(hot.redisReads / hot.seconds), 20),
      // One load for each time that the answer grew too old.
      atMost('hotSourceReads', hot.source, Math.ceil((hot.seconds * 1_000) / hotTtlMs) + 1),
    ];
    return reportOf('cache', bars, { questions, nearEntries, hotTtlMs, zipf, hot });
  } finally {
    await redis.close();
  }
}

async function zipfReads(redis: RedisConnection, prefix: string, reads: number): Promise<Tiers> {
  const next = zipf(questions, seededRandom(26));
  const processes = [1, 2].map(() => new Reader(redis, prefix, 60_000, nearEntries));
  let left = reads;
  const lane = async (reader: Reader): Promise<void> => {
    while (left-- > 0) await reader.read(`question ${next()}`);
  };
  await Promise.all(processes.flatMap((reader) => Array.from({ length: inFlight }, () => lane(reader))));
  const sum = (of: keyof Tiers): number => processes.reduce((total, { tiers }) => total + tiers[of], 0);
  return { memory: sum('memory'), redis: sum('redis'), source: sum('source'), redisReads: sum('redisReads') };
}

async function hotReads(redis: RedisConnection, prefix: string): Promise<Tiers & { reads: number; seconds: number }> {
  const reader = new Reader(redis, prefix, hotTtlMs, nearEntries);
  await reader.read('hot');
  const startedMs = performance.now();
  const elapsedMs = (): number => performance.now() - startedMs;
  let reads = 0;
  while (elapsedMs() < hotSeconds * 1_000) {
    const due = (elapsedMs() * hotPerSecond) / 1_000;
    for (; reads < due; reads++) if (!reader.knows('hot')) await reader.read('hot');
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return { ...reader.tiers, reads, seconds: round(elapsedMs() / 1_000) };
}

/** Draws 0 .. n-1, the k-th with a chance proportional to 1 / k. */
function zipf(n: number, random: { next(): number }): () => number {
  let total = 0;
  const upTo = Float64Array.from({ length: n }, (_, k) => (total += 1 / (k + 1)));
  return () => {
    const draw = random.next() * total;
    let [low, high] = [0, n - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((upTo[middle] ?? 0) < draw) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
