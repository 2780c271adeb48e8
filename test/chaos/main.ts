// Faults on purpose, against real services (`faults`: on the embedded store): npm run chaos -- SCENARIO|all [--json]
import { inspect, parseArgs } from 'node:util';

import { atMost, printReport, type Report, reportOf } from '../../src/runtime/report.ts';

import type { Scenario } from './scenario.ts';
import { churn } from './scenarios/churn.ts';
import { cutNetwork } from './scenarios/cut-network.ts';
import { drainWorker } from './scenarios/drain-worker.ts';
import { faultsAtUpstream } from './scenarios/faults.ts';
import { hangUpstream } from './scenarios/hang-upstream.ts';
import { joinWorker } from './scenarios/join-worker.ts';
import { killWorker } from './scenarios/kill-worker.ts';
import { loseBroker } from './scenarios/lose-broker.ts';
import { loseIngress } from './scenarios/lose-ingress.ts';
import { loseRedis } from './scenarios/lose-redis.ts';
import { resetUpstream } from './scenarios/reset-upstream.ts';
import { severalFaults } from './scenarios/several-faults.ts';
import { slowDisk } from './scenarios/slow-disk.ts';
import { zombieWorker } from './scenarios/zombie-worker.ts';
import { summaryOf } from './summary.ts';

const scenarios: Readonly<Record<string, Scenario>> = {
  kill: killWorker,
  drain: drainWorker,
  hang: hangUpstream,
  redis: loseRedis,
  broker: loseBroker,
  zombie: zombieWorker,
  reset: resetUpstream,
  'slow-disk': slowDisk,
  partition: cutNetwork,
  churn,
  join: joinWorker,
  ingress: loseIngress,
  several: severalFaults,
  faults: faultsAtUpstream,
};

const usage = `npm run chaos -- ${Object.keys(scenarios).join('|')}|all [options]
  --calls N     calls of a backlog (100000; of all: 20000); of faults at most 150
  --keys N      ordering keys (1000)
  --records N   backlog of hang (1000000; of all: 200000)
  --hang S      seconds that the upstream hangs (180; of all: 60)
  --events N    events to ingress (20000; of all: 5000)
  --outage S    seconds that Kafka is away from ingress (30)
  --minutes N   how long several goes on (5; of all: 3)
  --seed N      what several picks (random, printed)
  --json        print one object per scenario and no progress; all ends with one of its own`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    calls: { type: 'string' },
    keys: { type: 'string' },
    records: { type: 'string' },
    hang: { type: 'string' },
    events: { type: 'string' },
    outage: { type: 'string' },
    minutes: { type: 'string' },
    seed: { type: 'string' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const [name = ''] = positionals;
const all = name === 'all';
const chosen = all ? Object.keys(scenarios) : [name];
const number = (given: string | undefined, alone: number, ofAll = alone): number =>
  Number(given ?? (all ? ofAll : alone));
const sizes = {
  calls: number(values.calls, 100_000, 20_000),
  keys: number(values.keys, 1_000),
  records: number(values.records, 1_000_000, 200_000),
  hangSeconds: number(values.hang, 180, 60),
  events: number(values.events, 20_000, 5_000),
  outageSeconds: number(values.outage, 30),
  minutes: number(values.minutes, 5, 3),
  seed: number(values.seed, 1 + Math.floor(Math.random() * 1_000_000)),
};
const wrong = Object.values(sizes).some((size) => !Number.isInteger(size) || size < 1);
if (values.help || wrong || chosen.some((one) => scenarios[one] === undefined)) {
  process.stderr.write(`${usage}\n`);
  process.exit(values.help ? 0 : 2);
}

const services = { brokers: process.env['KAFKA_BROKERS']?.split(','), redisUrl: process.env['REDIS_URL'] };
const say = (text: string): void => void process.stderr.write(`  ${text}\n`);
let toldMs = 0;
const tell = (text: string): void => {
  if (values.json || Date.now() - toldMs < 2_000) return;
  toldMs = Date.now();
  say(text);
};
const show = (report: Report): void => {
  const print = (line: string): boolean => process.stdout.write(`${line}\n`);
  if (!values.json)
    for (const [figure, value] of Object.entries(report.figures)) print(`    ${figure} ${JSON.stringify(value)}`);
  printReport(report, values.json, print);
};

// By way of `exit`, so that brokers and folders go, too.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const reports: Report[] = [];
for (const one of chosen) {
  const report = await scenarios[one]?.({ ...sizes, services, tell, say }).catch((error: unknown) =>
    // With its causes: `fetch failed` alone says nothing.
    reportOf(one, [atMost('broken', 1, 0)], { error: inspect(error) }),
  );
  if (report === undefined) continue;
  reports.push(report);
  show(report);
}
if (all) show(summaryOf(reports));
process.exit(reports.every(({ pass }) => pass) ? 0 : 1);
