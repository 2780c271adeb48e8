import type { Result } from '../../../src/model/result.ts';
import { atLeast, atMost, type Report, reportOf } from '../../../src/runtime/report.ts';
import { withSandbox } from '../../../src/runtime/with-sandbox.ts';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { benchConfig, embeddedWorker } from '../embedded-worker.ts';
import type { BenchOptions } from '../main.ts';
import { type Contestant, offer, type Offered } from '../offer.ts';
import { quantile } from '../quantile.ts';

import { playFaults, stretches } from './fault-mix.ts';
import { httpClient } from './http-client.ts';
import { messageFor } from './message.ts';

// Together below the tier of 1,000 a minute. A crowd, every tenth second, comes at once, and 50 a second are let in.
const perSecond = 10;
const crowd = 40;
const crowdEveryMs = 10_000;
const usualCalls = 1_440;
const latencyMs = 40;

/** How a contestant came through. */
interface Came {
  readonly calls: number;
  readonly failed: number;
  /** Failed calls by the stretch in which they were offered. */
  readonly failedIn: Readonly<Record<string, number>>;
  readonly lost: number;
  /** Effects beyond the first of a message. */
  readonly twice: number;
  /** Requests at the upstream per call. */
  readonly amplification: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/**
 * The same faults for three ways to send messages, each to a sandbox of its own, all at the same time: a client that tries
 * once, a careful one, and Larkspur with its defaults. Needs no services.
 */
export async function resilienceReport({ calls, tell }: BenchOptions): Promise<Report> {
  const count = calls > 0 ? calls : usualCalls;
  const [bare, careful, ours] = await Promise.all([
    through('bare', (url) => httpClient(url, 0), count, tell),
    through('careful', (url) => httpClient(url, 3), count, tell),
    through('larkspur', larkspur, count, tell),
  ]);
  const bars = [
    atLeast('failedLessThanBare', lessThan(ours, bare), 0.92),
    atLeast('failedLessThanCareful', lessThan(ours, careful), 0.92),
    atMost('lost', ours.lost, 0),
    atMost('twice', ours.twice, 0),
  ];
  return reportOf('resilience', bars, { calls: count, perSecond, crowd, bare, careful, larkspur: ours });
}

/** By which share fewer calls failed. NaN where nothing failed at the control: then nothing was shown. */
function lessThan(ours: Came, control: Came): number {
  return Math.round((1 - ours.failed / (control.failed || NaN)) * 10_000) / 10_000;
}

async function through(
  name: string,
  make: (url: string) => Contestant,
  calls: number,
  tell: (line: string) => void,
): Promise<Came> {
  const sandbox = await createSandbox({ seed: 1, details: 100, settings: { latencyMs } });
  const contestant = make(sandbox.url);
  const runMs = (calls / (perSecond + (crowd * 1_000) / crowdEveryMs)) * 1_000;
  const endFaults = playFaults(sandbox, runMs);
  try {
    const due = (ms: number): number => (ms * perSecond) / 1_000 + crowd * Math.floor(ms / crowdEveryMs);
    const { ended, lost } = await offer(contestant, calls, due);
    const failed = ended.filter(({ good }) => !good);
    const tookMs = ended.map((call) => call.tookMs);
    const came = {
      calls,
      failed: failed.length + lost,
      failedIn: byStretch(failed, runMs),
      lost,
      twice: sandbox.verdict({ calls }).twice,
      amplification: Math.round((contestant.requests() / calls) * 100) / 100,
      p50Ms: Math.round(quantile(tookMs, 0.5)),
      p99Ms: Math.round(quantile(tookMs, 0.99)),
    };
    tell(`${name.padEnd(8)} ${JSON.stringify(came)}`);
    return came;
  } finally {
    endFaults();
    await contestant.close();
    await sandbox.close();
  }
}

function byStretch(failed: readonly Offered[], runMs: number): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { atMs } of failed) {
    const what = stretches.findLast(({ from }) => from * runMs <= atMs)?.what ?? 'well';
    counts[what] = (counts[what] ?? 0) + 1;
  }
  return counts;
}

/** All defaults, but for the second that an attempt gets, as at the controls. */
function larkspur(url: string): Contestant {
  const config = benchConfig({ apps: [{ id: 'cli_bench', secret: 'sandbox' }] });
  const timeouts = { connectMs: 1_000, attemptMs: 1_000, totalMs: 30_000 };
  const worker = embeddedWorker(withSandbox(config, url, { timeouts }));
  return {
    call: async (n) => {
      const { topic, value } = await worker.call({ id: `m-${n}`, ...messageFor(n) });
      return topic === 'results' && (JSON.parse(String(value)) as Result).status === 'ok';
    },
    requests: () => worker.tally.sum('larkspur_attempts_total'),
    close: () => worker.close(),
  };
}
