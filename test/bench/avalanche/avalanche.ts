import { atLeast, atMost, type Report, reportOf } from '../../../src/runtime/report.ts';
import { type Ended, offeredIn, type Taker, Traffic } from '../isolation/traffic.ts';
import { Upstreams } from '../isolation/upstreams.ts';
import { benchWorker } from '../isolation/worker.ts';
import type { BenchOptions } from '../main.ts';
import { quantile } from '../quantile.ts';

import { oldGateway } from './old-gateway.ts';

const names = ['auth', 'route', 'health', 'quota'];
const sick = 'health';
const perSecond = 300;
const slowMs = 2_300;
const delayMs = 50;
const usualSeconds = 300;
const onTimeMs = 1_000;

/** How a contestant came through. */
interface Came {
  /** Share of the calls to the healthy upstreams that were answered within a second. */
  readonly onTime: number;
  readonly othersP99Ms: number;
  readonly sickAnswered: number;
  /** Requests at the upstreams per call offered. */
  readonly amplification: number;
  readonly lost: number;
}

/**
 * 1,200 calls a second for four upstreams, one of which takes 2.3 s instead of 50 ms from the tenth of the time on: a gateway
 * with one pool of threads, then Larkspur with the preset `gateway`. `--calls` is the number of calls an upstream gets.
 */
export async function avalancheReport({ calls, tell }: BenchOptions): Promise<Report> {
  const seconds = calls > 0 ? Math.max(5, calls / perSecond) : usualSeconds;
  const control = await against('control', (url) => oldGateway(url), seconds, tell);
  const ours = await against(
    'larkspur',
    (url) => benchWorker(Object.fromEntries(names.map((name) => [name, { ...settings, baseUrl: `${url}/${name}` }]))),
    seconds,
    tell,
  );
  const bars = [
    atLeast('onTime', ours.onTime, 0.95),
    atMost('amplification', ours.amplification, 1.1),
    atMost('lost', ours.lost, 0),
    // Where the control comes through as well, the load was none, and nothing was shown.
    atLeast('onTimeOverControl', round(ours.onTime - control.onTime), 0.1),
  ];
  return reportOf('avalanche', bars, { perSecond: perSecond * names.length, seconds, slowMs, control, larkspur: ours });
}

const settings = {
  preset: 'gateway',
  concurrency: 50,
  bucketConcurrency: 50,
  connections: 50,
  timeouts: { attemptMs: 1_000, totalMs: 3_000 },
  breaker: { consecutiveFailures: 5 },
  fallback: { cacheTtlMs: 300_000, default: { nodes: [] }, afterAttempts: 0 },
} as const;

async function against(
  name: string,
  make: (url: string) => Taker & { readonly close: () => Promise<void> },
  seconds: number,
  tell: (line: string) => void,
): Promise<Came> {
  const upstreams = await Upstreams.start(delayMs);
  const taker = make(upstreams.url);
  try {
    const traffic = new Traffic(taker, names, perSecond);
    await traffic.during(seconds / 10);
    upstreams.set(sick, { kind: 'slow', ms: slowMs });
    const span = await traffic.during((seconds * 9) / 10);
    const lost = await traffic.settle(60_000);
    const { requests } = await upstreams.seen();
    const during = offeredIn(traffic.ended, span);
    const others = during.filter(({ upstream }) => upstream !== sick);
    const came = {
      onTime: share(others, ({ source, ms }) => source === 'live' && ms <= onTimeMs),
      othersP99Ms: Math.round(
        quantile(
          others.map(({ ms }) => ms),
          0.99,
        ),
      ),
      sickAnswered: share(
        during.filter(({ upstream }) => upstream === sick),
        ({ source }) => source !== 'none',
      ),
      amplification: Math.round((sum(Object.values(requests)) / traffic.offered) * 1_000) / 1_000,
      lost,
    };
    tell(`${name.padEnd(9)} ${JSON.stringify(came)}`);
    return came;
  } finally {
    await taker.close();
    upstreams.stop();
  }
}

function share(calls: readonly Ended[], good: (call: Ended) => boolean): number {
  return Math.round((calls.filter(good).length / calls.length) * 10_000) / 10_000;
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
