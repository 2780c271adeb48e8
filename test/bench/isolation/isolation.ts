import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { atLeast, atMost, type Report, reportOf } from '../../../src/runtime/report.ts';
import type { BenchOptions } from '../main.ts';
import { quantile } from '../quantile.ts';

import { type Ended, offeredIn, Traffic, usualP99Ms } from './traffic.ts';
import { Upstreams } from './upstreams.ts';
import { benchWorker } from './worker.ts';

const names = ['weather', 'news', 'stock', 'ip'];
const others = names.filter((name) => name !== 'news');
const usualPerSecond = 200;
const usualSeconds = 20;
const delayMs = 50;
const attemptMs = 1_000;
// 200 a second of 50 ms are 10 at once; twice that leaves room for a bad moment.
const concurrency = 20;
const recoverySeconds = 30;
const mostKeptPerCallKb = 4;

type Span = readonly [number, number];

/**
 * Four upstreams at 200 calls a second each on one worker. `news` hangs, then answers 503, then has three times its callers, then
 * is well again: what of that the three others feel, beside the seconds without a fault in the same run; what callers of `news`
 * get meanwhile; and how it comes back. `--calls` is the number of calls an upstream gets in each phase, then at a quarter of
 * the rate.
 */
export async function isolationReport({ calls, tell }: BenchOptions): Promise<Report> {
  const perSecond = calls > 0 ? usualPerSecond / 4 : usualPerSecond;
  const seconds = calls > 0 ? Math.max(3, calls / perSecond) : usualSeconds;
  const upstreams = await Upstreams.start(delayMs);
  const declared = names.map((name) => [name, { baseUrl: `${upstreams.url}/${name}`, ...settings }] as const);
  const worker = benchWorker(Object.fromEntries(declared));
  try {
    const traffic = new Traffic(worker, names, perSecond);
    const phase = async (
      what: string,
      news: 'well' | 'hangs' | 'down',
      forSeconds = seconds,
      times = 1,
    ): Promise<Span> => {
      upstreams.set('news', { kind: news });
      tell(`${what}, ${Math.round(forSeconds)} s`);
      return traffic.during(forSeconds, { news: times });
    };
    // A cold start leaves a backlog, and measured is what comes after it.
    for (let tries = 0; tries < 10; tries++) {
      const span = await phase('warming up', 'well', 2);
      await traffic.settle(10_000);
      if (carried(offeredIn(traffic.ended, span)) >= 0.99) break;
    }
    const before = await phase('all well', 'well');
    const loop = monitorEventLoopDelay({ resolution: 10 });
    loop.enable();
    const was = { liveBytes: await liveBytes(traffic), offered: traffic.offered };
    const hang = await phase('news hangs', 'hangs');
    const down = await phase('news answers 503', 'down');
    // Who gets no live answer asks again.
    const crowd = await phase('news answers 503, and its callers triple', 'down', seconds / 2, 3);
    const loopP99Ms = round(loop.percentile(99) / 1e6);
    loop.disable();
    const keptBytes = (await liveBytes(traffic)) - was.liveBytes;
    const keptPerCallKb = round(keptBytes / 1_024 / (traffic.offered - was.offered));
    const house = { keptPerCallKb, rssMb: Math.round(process.memoryUsage.rss() / 1_048_576), loopP99Ms };
    const recovery = await phase('news is well again', 'well', calls > 0 ? Math.max(seconds, 12) : recoverySeconds);
    const lost = await traffic.settle(60_000);
    const seen = await upstreams.seen();
    return report(traffic, { before, hang, down, crowd, recovery }, { lost, most: seen.most, house });
  } finally {
    await worker.close();
    upstreams.stop();
  }
}

const settings = {
  concurrency,
  bucketConcurrency: concurrency,
  connections: concurrency,
  timeouts: { attemptMs },
  breaker: { consecutiveFailures: 5, coolDownMs: 1_000, maxOpenMs: 5_000 },
  fallback: { cacheTtlMs: 300_000, default: { items: [] }, afterAttempts: 0 },
};

interface Spans {
  readonly before: Span;
  readonly hang: Span;
  readonly down: Span;
  readonly crowd: Span;
  readonly recovery: Span;
}

/** What was seen beside the calls. */
interface Aside {
  readonly lost: number;
  /** Most requests at once, by upstream. */
  readonly most: Readonly<Record<string, number>>;
  /** Of the process through the outage; the bench itself is in it. */
  readonly house: { readonly keptPerCallKb: number; readonly rssMb: number; readonly loopP99Ms: number };
}

function report(traffic: Traffic, spans: Spans, { lost, most, house }: Aside): Report {
  const { ended } = traffic;
  const of = (name: string, span: Span): Ended[] => offeredIn(ended, span).filter(({ upstream }) => upstream === name);
  // The last third of the recovery is as good as before: machines change within a minute.
  const calm: Span = [spans.recovery[1] - (spans.recovery[1] - spans.recovery[0]) / 3, spans.recovery[1]];
  const perSecondOf = (calls: readonly Ended[], ms: number): number =>
    (calls.filter(({ source }) => source === 'live').length * 1_000) / ms;
  const length = ([from, to]: Span): number => to - from;
  const feltBy = (name: string, what: 'hang' | 'down' | 'crowd') => {
    const well = [...of(name, spans.before), ...of(name, calm)];
    const sick = of(name, spans[what]);
    return {
      name,
      fault: what,
      wellP99Ms: usualP99Ms(well),
      p99Ms: usualP99Ms(sick),
      success: sick.filter(({ source }) => source === 'live').length / sick.length,
      throughput: perSecondOf(sick, length(spans[what])) / perSecondOf(well, length(spans.before) + length(calm)),
    };
  };
  const felt = others.flatMap((name) => [feltBy(name, 'hang'), feltBy(name, 'down')]);
  // What a crowd costs beside is the machine's: only whether its neighbours are served is a question of walls.
  const crowded = others.map((name) => feltBy(name, 'crowd'));
  const outage = [...of('news', spans.hang), ...of('news', spans.down), ...of('news', spans.crowd)];
  const answered = outage.filter(({ source }) => source === 'cache' || source === 'default');
  const first = outage.filter(({ open }) => !open).map(({ ms }) => ms);
  const whileOpen = outage.filter(({ open }) => open).map(({ ms }) => ms);
  const bars = [
    // Else the machine cannot carry the load at all, and the other bars say nothing.
    atLeast('carried', round(carried(names.flatMap((name) => of(name, spans.before)))), 0.95),
    atMost('othersP99Ratio', round(Math.max(...felt.map(({ p99Ms, wellP99Ms }) => p99Ms / wellP99Ms))), 1.05),
    atLeast('othersSuccess', round(Math.min(...[...felt, ...crowded].map(({ success }) => success))), 0.999),
    atLeast('othersThroughputRatio', round(Math.min(...felt.map(({ throughput }) => throughput))), 0.95),
    atLeast('newsAnswered', round(answered.length / outage.length), 0.999),
    // As long as an attempt may take, and what a timer and a write take beside.
    atMost('newsFirstP95', round(quantile(first, 0.95) / attemptMs), 1.1),
    atMost('newsOpenP99Ms', round(quantile(whileOpen, 0.99)), 50),
    ...names.map((name) => atMost(`inFlight.${name}`, most[name] ?? NaN, concurrency)),
    atMost('recoverySeconds', recoveredAfter(of('news', spans.recovery), spans.recovery[0]), recoverySeconds),
    // Calls of an outage must not pile up. Their records, claims and results stay in this process: some 2 kB.
    atMost('keptPerCallKb', house.keptPerCallKb, mostKeptPerCallKb),
    atMost('lost', lost, 0),
  ];
  return reportOf('isolation', bars, {
    offeredPerSecond: round((traffic.offered * 1_000) / (spans.recovery[1] - spans.before[0])),
    delayMs,
    offered: traffic.offered,
    house,
    felt: [...felt, ...crowded].map((one) => ({
      ...one,
      wellP99Ms: round(one.wellP99Ms),
      p99Ms: round(one.p99Ms),
      success: round(one.success),
      throughput: round(one.throughput),
    })),
    news: { whileOpen: whileOpen.length, otherwise: first.length, openP50Ms: round(quantile(whileOpen, 0.5)) },
  });
}

/** Share of calls that ended well within a second. */
function carried(calls: readonly Ended[]): number {
  return calls.filter(({ source, ms }) => source === 'live' && ms <= 1_000).length / calls.length;
}

/** Seconds until 95 % of a second's calls are answered by the upstream itself again, and stay so; NaN where they never are. */
function recoveredAfter(calls: readonly Ended[], fromMs: number): number {
  const seconds = new Map<number, { all: number; live: number }>();
  for (const { offeredMs, source } of calls) {
    const second = Math.floor((offeredMs - fromMs) / 1_000);
    const count = seconds.get(second) ?? { all: 0, live: 0 };
    count.all++;
    if (source === 'live') count.live++;
    seconds.set(second, count);
  }
  const notYet = [...seconds].filter(([, { all, live }]) => live < all * 0.95).map(([second]) => second);
  if (notYet.includes(Math.max(...seconds.keys()) - 1)) return NaN;
  return notYet.length === 0 ? 0 : Math.max(...notYet) + 1;
}

/** What is in use once all calls have ended. How much the process holds beside says more about its collector than about calls. */
async function liveBytes(traffic: Traffic): Promise<number> {
  await traffic.settle(10_000);
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
