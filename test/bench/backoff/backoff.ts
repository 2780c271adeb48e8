import { atLeast, atMost, type Report, reportOf } from '../../../src/runtime/report.ts';
import { news } from '../../support/calls.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';
import type { BenchOptions } from '../main.ts';

import { LimitedServer, type Outcome, outcomeOf, play, strategies } from './strategies.ts';

const usualCalls = 1_000;
const perSecond = 580;
const burst = 60;
const attempts = 10;
const seed = 25;

/**
 * A thousand calls at once for an upstream that takes 580 a second: three ways in which clients come again by themselves,
 * then Larkspur, which knows the limit. All against the same server, in virtual time: the same on every machine.
 */
export function backoffReport({ calls, tell }: BenchOptions): Promise<Report> {
  const count = calls > 0 ? calls : usualCalls;
  const server = (): LimitedServer => new LimitedServer(perSecond, burst);
  const [fixed, exponential, jitter] = [strategies.fixed, strategies.exponential, strategies.jitter].map((strategy) =>
    play(strategy, server(), count, attempts, seed),
  ) as [Outcome, Outcome, Outcome];
  const ours = larkspur(count, server());
  for (const [name, outcome] of Object.entries({ fixed, exponential, jitter, ours })) {
    tell(`${name.padEnd(12)} ${JSON.stringify(outcome)}`);
  }
  const bars = [
    atLeast('exponentialOverFixed', ratio(exponential.success, fixed.success), 1.001),
    atLeast('jitterOverExponential', ratio(jitter.success, exponential.success), 1.001),
    atLeast('jitterSuccess', jitter.success, 0.979),
    atMost('jitterRetries', jitter.retriesPerCall, 1.4),
    atLeast('refusalsLessByJitter', Math.round((1 - jitter.refusals / exponential.refusals) * 1_000) / 1_000, 0.776),
    atLeast('oursSuccess', ours.success, 1),
    atMost('oursRefusals', ours.refusals, 0),
    atMost('oursRetries', ours.retriesPerCall, 0),
  ];
  const figures = { calls: count, perSecond, burst, attempts, fixed, exponential, jitter, ours };
  return Promise.resolve(reportOf('backoff', bars, figures));
}

/** The real pipeline, with the upstream's limit declared. */
function larkspur(calls: number, server: LimitedServer): Outcome {
  const limits = [{ limit: perSecond / 10, windowMs: 100 }];
  const upstream = { limits, concurrency: 1_000, bucketConcurrency: 1_000 };
  const bench = new PipelineBench({ upstreams: { news: upstream }, processSlots: 1_000 });
  const { attempts: made } = bench.upstream('news');
  bench.upstream('news').script = ({ atMs }) => ({ status: server.call(atMs) ? 200 : 429 });
  const worker = bench.start();
  for (let i = 0; i < calls; i++) bench.call(news(`n-${i}`));
  while (bench.results.length < calls && bench.time.now() < 600_000) bench.run(1_000);
  worker.crash();
  return outcomeOf(made.length, server, bench.results.length, calls, bench.time.now());
}

function ratio(a: number, b: number): number {
  return Math.round((a / b) * 1_000) / 1_000;
}
