// Faults on purpose, against real services (`faults`: on the embedded store): npm run chaos -- kill|hang|drain|redis|broker|faults|all [--json]
import { parseArgs } from 'node:util';

import { printReport } from '../../src/runtime/report.ts';

import type { Scenario } from './scenario.ts';
import { cutNetwork } from './scenarios/cut-network.ts';
import { drainWorker } from './scenarios/drain-worker.ts';
import { faultsAtUpstream } from './scenarios/faults.ts';
import { hangUpstream } from './scenarios/hang-upstream.ts';
import { killWorker } from './scenarios/kill-worker.ts';
import { loseBroker } from './scenarios/lose-broker.ts';
import { loseRedis } from './scenarios/lose-redis.ts';
import { resetUpstream } from './scenarios/reset-upstream.ts';
import { slowStores } from './scenarios/slow-stores.ts';
import { zombieWorker } from './scenarios/zombie-worker.ts';

const scenarios: Readonly<Record<string, Scenario>> = {
  kill: killWorker,
  hang: hangUpstream,
  drain: drainWorker,
  redis: loseRedis,
  broker: loseBroker,
  zombie: zombieWorker,
  reset: resetUpstream,
  slow: slowStores,
  cut: cutNetwork,
  faults: faultsAtUpstream,
};

const usage = `npm run chaos -- ${Object.keys(scenarios).join('|')}|all [options]
  --calls N     calls of kill, drain, redis and broker (100000); of faults at most 150
  --keys N      ordering keys (1000)
  --records N   backlog of hang (1000000)
  --hang S      seconds that the upstream hangs (180)
  --json        print one object per scenario and no progress`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    calls: { type: 'string', default: '100000' },
    keys: { type: 'string', default: '1000' },
    records: { type: 'string', default: '1000000' },
    hang: { type: 'string', default: '180' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const [name = ''] = positionals;
const chosen = name === 'all' ? Object.keys(scenarios) : [name];
const numbers = [values.calls, values.keys, values.records, values.hang].map(Number);
const wrong = numbers.some((number) => !Number.isInteger(number) || number < 1);
if (values.help || wrong || chosen.some((one) => scenarios[one] === undefined)) {
  process.stderr.write(`${usage}\n`);
  process.exit(values.help ? 0 : 2);
}
const [calls = 0, keys = 0, records = 0, hangSeconds = 0] = numbers;

const services = { brokers: process.env['KAFKA_BROKERS']?.split(','), redisUrl: process.env['REDIS_URL'] };
let toldMs = 0;
const tell = (text: string): void => {
  if (values.json || Date.now() - toldMs < 2_000) return;
  toldMs = Date.now();
  process.stderr.write(`  ${text}\n`);
};

// By way of `exit`, so that brokers and folders go, too.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

let passed = true;
for (const one of chosen) {
  const report = await scenarios[one]?.({ calls, keys, records, hangSeconds, services, tell });
  if (report === undefined) continue;
  passed &&= report.pass;
  const print = (line: string): boolean => process.stdout.write(`${line}\n`);
  if (!values.json)
    for (const [figure, value] of Object.entries(report.figures)) print(`    ${figure} ${JSON.stringify(value)}`);
  printReport(report, values.json, print);
}
process.exit(passed ? 0 : 1);
