// A worker on a data folder, for tests that kill it: `killable-worker.ts FOLDER SANDBOX_URL RECORDS`.
// Prints `started`, then `done` once so many different records have ended.
import { firstValueFrom, map, merge, toArray } from 'rxjs';

import { systemClock, systemRandom, systemTimers } from '../../../src/adapters/system/clock.ts';
import { compile } from '../../../src/config/compile.ts';
import { complete } from '../../../src/config/complete.ts';
import { headerText } from '../../../src/model/record.ts';
import type { Result } from '../../../src/model/result.ts';
import { openStores } from '../../../src/runtime/open-stores.ts';
import { startWorker } from '../../../src/runtime/start-worker.ts';
import { noLogger, noMetrics } from '../silent.ts';

const [folder = '', sandboxUrl = '', records = ''] = process.argv.slice(2);
const print = (line: string): boolean => process.stdout.write(`${line}\n`);
const { value } = complete(
  {
    data: folder,
    apps: [{ id: 'cli_a', secret: 'sandbox' }],
    upstreams: { feishu: { baseUrl: sandboxUrl }, plain: { baseUrl: `${sandboxUrl}/echo` } },
  },
  () => 'test',
);
const world = { clock: systemClock, timers: systemTimers, random: systemRandom, log: noLogger, metrics: noMetrics };
const config = compile(value, new Map());
const stores = openStores(config, world);
startWorker(config, stores, world, (error) => {
  throw error;
});
print('started');

const all = 1_000_000;
const origin$ = merge(
  stores.tail('results', all).pipe(map((record) => (JSON.parse(String(record.value)) as Result).origin)),
  stores.tail('dead-letters', all).pipe(map((record) => headerText(record.headers, 'larkspur-origin'))),
);
const ended = async (): Promise<number> => new Set(await firstValueFrom(origin$.pipe(toArray()))).size;
while ((await ended()) < Number(records)) await new Promise((resolve) => setTimeout(resolve, 50));
print('done');
