import { setTimeout as sleep } from 'node:timers/promises';

import { atLeast, atMost, type Bar } from '../../../src/runtime/report.ts';
import type { WindowLimit } from '../../../src/sandbox/state/windows.ts';
import { LocalRedis } from '../../support/services/local-redis.ts';

import { type Arrivals, Fleet } from './fleet.ts';
import { type Epoch, idealStarts } from './ideal.ts';
import type { Told } from './task.ts';

/** What a round found. */
export interface Round {
  readonly bars: readonly Bar[];
  readonly figures: Readonly<Record<string, unknown>>;
}

/** Times of a round, in milliseconds; the short form of a test has shorter ones. */
export interface Times {
  /** When the disturbance begins, and how long it lasts. */
  readonly hurtAtMs: number;
  readonly hurtForMs: number;
}

const tier: readonly WindowLimit[] = [
  { limit: 50, windowMs: 1_000 },
  { limit: 1_000, windowMs: 60_000 },
];
const without40Percent: readonly WindowLimit[] = [
  { limit: 30, windowMs: 1_000 },
  { limit: 600, windowMs: 60_000 },
];
const waitLimitMs = 600_000;

/** All calls as fast as the tier allows. */
export async function steadyRound(tierMode: 'sliding' | 'fixed', calls: number): Promise<Round> {
  const { seconds, arrivals, told } = await withRedis(async (redis) => run({ redis, tierMode, calls }));
  const idealMs = idealStarts(calls, [{ fromMs: 0, limits: tier }]).at(-1) ?? 0;
  const roundTrips = sum(told, ({ roundTrips: own }) => own);
  return {
    bars: [
      ...exact(arrivals, calls),
      // 141 s for 3,000.
      atMost('seconds', seconds, rounded((idealMs / 1_000) * (141 / 139))),
      atLeast('utilisation', rounded(idealMs / 1_000 / seconds), calls >= 3_000 ? 0.98 : 0),
      atMost('roundTripsPer10Calls', rounded((roundTrips / calls) * 10), 1),
    ],
    figures: {
      idealSeconds: idealMs / 1_000,
      roundTrips,
      ...arrivals,
      longestAskMs: longestAsk(told),
      longestStallMs: longestStall(told),
    },
  };
}

/** Somebody else takes 40 % of the quota away for a while. */
export async function foreignRound(calls: number, { hurtAtMs, hurtForMs }: Times): Promise<Round> {
  let duringMs: readonly [Arrivals, Arrivals] | undefined;
  let recoveredMs = Infinity;
  const { seconds, arrivals } = await withRedis(async (redis) =>
    run({
      redis,
      tierMode: 'sliding',
      calls,
      meanwhile: async (fleet) => {
        await sleep(hurtAtMs);
        await fleet.tier(without40Percent);
        const before = await fleet.arrivals();
        await sleep(hurtForMs);
        duringMs = [before, await fleet.arrivals()];
        await fleet.tier(tier);
        const overMs = performance.now();
        await fleet.until('the old limits are used again', (told) => factorOf(told) >= 1, waitLimitMs);
        recoveredMs = performance.now() - overMs;
      },
    }),
  );
  const epochs: Epoch[] = [
    { fromMs: 0, limits: tier },
    { fromMs: hurtAtMs, limits: without40Percent },
    { fromMs: hurtAtMs + hurtForMs, limits: tier },
  ];
  const ideal = idealStarts(calls, epochs).filter((atMs) => atMs >= hurtAtMs && atMs < hurtAtMs + hurtForMs).length;
  const [before, after] = duringMs ?? [arrivals, arrivals];
  const good = after.calls - after.refusals - (before.calls - before.refusals);
  return {
    bars: [
      atMost('refusedShare', rounded(arrivals.refusals / calls), 0.01),
      atLeast('utilisation', rounded(good / ideal), 0.95),
      atMost('recoverySeconds', Math.round(recoveredMs / 1_000), 60),
    ],
    figures: { seconds, ideal, good, ...arrivals },
  };
}

/** Redis is killed in mid-run and comes back empty. */
export async function outageRound(calls: number, { hurtAtMs, hurtForMs }: Times): Promise<Round> {
  let doneAway = 0;
  let split = 0;
  const { seconds, arrivals, told } = await withRedis(async (redis) =>
    run({
      redis,
      tierMode: 'sliding',
      calls,
      meanwhile: async (fleet) => {
        await sleep(hurtAtMs);
        await redis.kill9();
        const before = await fleet.arrivals();
        await sleep(hurtForMs);
        split = (await fleet.status()).filter(({ splitAmong }) => splitAmong === 3).length;
        doneAway = (await fleet.arrivals()).calls - before.calls;
        await redis.start();
        await fleet.until('the limits are counted together', (seen) => seen.every(together), waitLimitMs);
      },
    }),
  );
  return {
    bars: [
      ...exact(arrivals, calls),
      atLeast('splitWorkers', split, 3),
      atLeast('callsMeanwhile', doneAway, 1),
      // The time limit is 250 ms; a timer may be a little late.
      atMost('longestAskMs', Math.round(longestAsk(told)), 275),
      atLeast('sharedAgain', told.filter(together).length, 3),
    ],
    figures: { seconds, doneAway, ...arrivals, longestStallMs: longestStall(told) },
  };
}

const together = ({ splitAmong }: Told): boolean => splitAmong === 0;
const factorOf = (told: readonly Told[]): number => Math.min(...told.map(({ factor }) => factor));
const longestAsk = (told: readonly Told[]): number => Math.max(...told.map(({ longestAskMs }) => longestAskMs));
// A worker that stands still for longer than windows are stretched, 40 ms, may be refused: then the machine is too small.
const longestStall = (told: readonly Told[]): number =>
  Math.round(Math.max(...told.map(({ longestStallMs }) => longestStallMs)));
const sum = (told: readonly Told[], of: (one: Told) => number): number =>
  told.reduce((total, one) => total + of(one), 0);
const rounded = (value: number): number => Math.round(value * 10_000) / 10_000;

function exact({ calls, refusals, chatRefusals, maxPerSecond, maxPerMinute }: Arrivals, wanted: number): Bar[] {
  return [
    { ...atMost('calls', calls, wanted), pass: calls === wanted },
    atMost('refusals', refusals + chatRefusals, 0),
    atMost('maxPerSecond', maxPerSecond, 50),
    atMost('maxPerMinute', maxPerMinute, 1_000),
  ];
}

async function withRedis<T>(work: (redis: LocalRedis) => Promise<T>): Promise<T> {
  const redis = new LocalRedis();
  try {
    await redis.start();
    return await work(redis);
  } finally {
    await redis.stop();
  }
}

async function run(options: {
  readonly redis: LocalRedis;
  readonly tierMode: 'sliding' | 'fixed';
  readonly calls: number;
  readonly meanwhile?: (fleet: Fleet) => Promise<void>;
}): Promise<{ readonly seconds: number; readonly arrivals: Arrivals; readonly told: readonly Told[] }> {
  const { redis, tierMode, calls, meanwhile } = options;
  const fleet = await Fleet.start({ redisUrl: redis.url, tierMode, tier, calls });
  try {
    const startMs = performance.now();
    fleet.go();
    const done = (told: readonly Told[]): boolean => sum(told, ({ settled }) => settled) >= calls;
    let seconds = 0;
    const ended = fleet.until('all calls end', done, waitLimitMs).then(() => {
      seconds = rounded((performance.now() - startMs) / 1_000);
    });
    await Promise.all([ended, meanwhile?.(fleet)]);
    return { seconds, arrivals: await fleet.arrivals(), told: await fleet.status() };
  } finally {
    await fleet.close();
  }
}
