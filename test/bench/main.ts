// npm run bench -- SCENARIO [--json]: throughput (real Kafka and Redis, against a control), observe (what it costs to be watched),
// operators (cost per stage),
// ingress (events of Feishu, against a bare webhook), surge (a load that jumps, against a blocking gateway; embedded), kill
// (kill -9 in the middle, against a control), claims (pairs of claim and finish on one Redis), quota (three workers, one
// quota in a real Redis), isolation (one of four upstreams hangs), avalanche (one becomes slow; against a gateway without
// walls), backoff (ways to come again), cache (reads through memory, Redis and a source), resilience (one mix of faults for
// a bare client, a careful one and Larkspur), parked (100,000 calls in the delay topics of a real Kafka, workers replaced).
import { parseArgs } from 'node:util';

import { type Report, printReport } from '../../src/runtime/report.ts';

import { avalancheReport } from './avalanche/avalanche.ts';
import { backoffReport } from './backoff/backoff.ts';
import { cacheReport } from './cache/cache.ts';
import { claimsReport } from './claims.ts';
import { ingressReport } from './ingress/ingress.ts';
import { isolationReport } from './isolation/isolation.ts';
import { killReport } from './kill/kill.ts';
import { operatorsReport } from './operators.ts';
import { parkedReport } from './parked/parked.ts';
import { quotaReport } from './quota/quota.ts';
import { resilienceReport } from './resilience/resilience.ts';
import { surgeReport } from './surge/surge.ts';
import { observeReport } from './throughput/observe.ts';
import { throughputReport } from './throughput/throughput.ts';

/** What a scenario may be told. */
export interface BenchOptions {
  readonly rounds: number;
  /** Calls of one round; 0: as many as the scenario wants. */
  readonly calls: number;
  /** Parts of the scenario that are wanted; none: all. */
  readonly parts?: readonly string[];
  readonly tell: (line: string) => void;
}

const scenarios: Readonly<Record<string, (options: BenchOptions) => Promise<Report>>> = {
  throughput: throughputReport,
  observe: observeReport,
  operators: operatorsReport,
  surge: surgeReport,
  ingress: ingressReport,
  kill: killReport,
  cache: cacheReport,
  claims: claimsReport,
  quota: quotaReport,
  isolation: isolationReport,
  avalanche: avalancheReport,
  backoff: backoffReport,
  parked: parkedReport,
  resilience: resilienceReport,
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '3' },
    calls: { type: 'string', default: '0' },
    help: { type: 'boolean', default: false },
  },
});
const scenario = scenarios[positionals[0] ?? ''];
const rounds = Number(values.rounds);
const calls = Number(values.calls);
if (values.help || scenario === undefined || !(rounds >= 1) || !(calls >= 0)) {
  console.error(`npm run bench -- ${Object.keys(scenarios).join('|')} [PART...] [--json] [--rounds 3] [--calls N]`);
  process.exit(values.help ? 0 : 2);
}
const report = await scenario({
  rounds,
  calls,
  parts: positionals.slice(1),
  tell: (line) => process.stderr.write(`${line}\n`),
});
process.exit(printReport(report, values.json, (line) => process.stdout.write(`${line}\n`)));
