import { atLeast, atMost, type Report, reportOf } from '../../../src/runtime/report.ts';
import { startServices } from '../../support/services/services.ts';
import type { BenchOptions } from '../main.ts';

import { buildContestants } from './build.ts';
import type { Finished } from './child.ts';
import { cpuMs, describeRun, figuresOf, median, rate, rounded, rssMb } from './figures.ts';
import { type Place, runLatency, runRound } from './round.ts';
import { safeties, type Safety } from './without.ts';

const inFlight = 256;
/** Calls of a round by the upstream's delay: the first seconds, in which code is compiled, must weigh little. */
const callsOf = new Map([
  [0, 100_000],
  [10, 100_000],
  [100, 40_000],
]);
const ratioBars = new Map([
  [0, 0.65],
  [10, 0.65],
  [100, 0.93],
]);
const contestants = ['control', 'larkspur'] as const;

type Runs = Record<(typeof contestants)[number], Finished[]>;

/**
 * Larkspur with everything on against a plain consumer loop written with care, on the same broker, Redis and stub upstream,
 * taking turns round by round. Bars are ratios of medians; plain figures stand beside them.
 */
export async function throughputReport(options: BenchOptions): Promise<Report> {
  const { parts = [] } = options;
  if (parts.some((part) => part !== 'safety'))
    throw new Error(`throughput has one part, safety; got ${parts.join(' ')}`);
  return withPlace((place) => (parts.length > 0 ? safetyReport(place, options) : allReport(place, options)));
}

/** Real services, and contestants that are compiled; who called ends both. */
export async function withPlace(report: (place: Place) => Promise<Report>): Promise<Report> {
  const built = buildContestants();
  const services = await startServices();
  const { kafka, redis } = services;
  if ('missing' in kafka || 'missing' in redis) {
    throw new Error(
      `the bench needs a real Kafka and Redis: ${[kafka, redis].map((s) => ('missing' in s ? s.missing : '')).join(' ')}`,
    );
  }
  try {
    return await report({ brokers: kafka.brokers, redisUrl: redis.url, built });
  } finally {
    await services.stop();
  }
}

async function allReport(place: Place, { rounds, calls, tell }: BenchOptions): Promise<Report> {
  const byDelay = new Map<number, Runs>();
  for (const [delayMs, usualCalls] of callsOf) {
    const runs: Runs = { control: [], larkspur: [] };
    byDelay.set(delayMs, runs);
    for (let round = 1; round <= rounds; round++) {
      for (const who of contestants) {
        const run = await runRound(place, { who, delayMs, calls: calls > 0 ? calls : usualCalls, inFlight });
        runs[who].push(run);
        tell(`${delayMs} ms, round ${round}, ${who}: ${describeRun(run)}`);
      }
    }
  }
  const latency = { control: await runLatency(place, 'control'), larkspur: await runLatency(place, 'larkspur') };
  return judge(byDelay, latency, rounds);
}

/** At an upstream that answers at once the guarantees cost at most half of the rate. */
const leastKept = 0.5;

/** What each safety costs at an upstream that answers at once: Larkspur with all, without each, without any. */
async function safetyReport(place: Place, { rounds, calls, tell }: BenchOptions): Promise<Report> {
  const variants = [undefined, ...safeties, 'all'] as const;
  const shape = { delayMs: 0, calls: calls > 0 ? calls : 50_000, inFlight };
  const control: Finished[] = [];
  const runs = new Map<string, Finished[]>(variants.map((without) => [nameOf(without), []]));
  for (let round = 1; round <= rounds; round++) {
    control.push(await runRound(place, { who: 'control', ...shape }));
    for (const without of variants) {
      const run = await runRound(place, { who: 'larkspur', ...shape, ...(without === undefined ? {} : { without }) });
      runs.get(nameOf(without))?.push(run);
      tell(`round ${round}, ${nameOf(without)}: ${describeRun(run)}`);
    }
  }
  const figures: Record<string, unknown> = { rounds, ...shape, control: figuresOf(control) };
  for (const [name, all] of runs) {
    figures[name] = {
      ...figuresOf(all),
      ratio: rounded(median(all, rate) / median(control, rate)),
      cpuRatio: rounded(median(all, cpuMs) / median(control, cpuMs)),
    };
  }
  const [all = [], none = []] = [undefined, 'all' as const].map((without) => runs.get(nameOf(without)));
  const kept = median(all, rate) / median(none, rate);
  return reportOf('throughput safety', [atLeast('rateKeptWithEverything', rounded(kept), leastKept)], figures);
}

const nameOf = (without: Safety | undefined): string =>
  without === undefined ? 'with everything' : `without ${without === 'all' ? 'any of them' : without}`;

function judge(byDelay: ReadonlyMap<number, Runs>, latency: unknown, rounds: number): Report {
  const bars = [];
  const figures: Record<string, unknown> = { rounds, inFlight, latencyAt500PerSecond: latency };
  let worstCpu = 0;
  let worstRssMb = 0;
  for (const [delayMs, { control, larkspur }] of byDelay) {
    const ratio = median(larkspur, rate) / median(control, rate);
    const cpu = median(larkspur, cpuMs) / median(control, cpuMs);
    // At 100 ms a control sits idle and its own start-up weighs; CPU is compared where both work.
    if (delayMs < 100) worstCpu = Math.max(worstCpu, cpu);
    worstRssMb = Math.max(worstRssMb, median(larkspur, rssMb));
    bars.push(atLeast(`ratio.${delayMs}ms`, rounded(ratio), ratioBars.get(delayMs) ?? 0));
    for (const [who, runs] of Object.entries({ control, larkspur })) {
      figures[`${who}.${delayMs}ms`] = figuresOf(runs);
    }
    figures[`cpuRatio.${delayMs}ms`] = rounded(cpu);
  }
  bars.push(atMost('cpuRatio', rounded(worstCpu), 1.6), atMost('rssMb', Math.round(worstRssMb), 300));
  return reportOf('throughput', bars, figures);
}
