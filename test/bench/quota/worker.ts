// A worker of the quota bench: the product's pipeline on a store of its own in memory, its quota counted in the shared Redis.
import { monitorEventLoopDelay } from 'node:perf_hooks';

import { tap } from 'rxjs';

import { RedisConnection } from '../../../src/adapters/redis/client.ts';
import { RedisQuotaLog } from '../../../src/adapters/redis/quota-log.ts';
import { systemClock, systemRandom, systemTimers } from '../../../src/adapters/system/clock.ts';
import { compile } from '../../../src/config/compile.ts';
import { complete } from '../../../src/config/complete.ts';
import type { QuotaLog } from '../../../src/ports/quota-log.ts';
import { openStores } from '../../../src/runtime/open-stores.ts';
import { startWorker } from '../../../src/runtime/start-worker.ts';
import { noLogger, noMetrics } from '../../support/silent.ts';

import { task, type Told } from './task.ts';

const { sandboxUrl, redisUrl, keyPrefix, from, calls, chats } = task();
const raw = {
  data: 'memory',
  apps: ['cli_bench', 'cli_warm'].map((id) => ({ id, secret: 'bench' })),
  upstreams: { feishu: { baseUrl: sandboxUrl } },
};
const config = compile(complete(raw, () => 'bench').value, new Map());
const parts = { clock: systemClock, timers: systemTimers, random: systemRandom, log: noLogger, metrics: noMetrics };
const redis = new RedisConnection({ ...parts, logger: noLogger, url: redisUrl });
const log = new RedisQuotaLog(redis, systemTimers, noLogger, { keyPrefix });
const warmUps = 150;
let warmUpTrips = 0;
let longestAskMs = 0;
const stallResolutionMs = 5;
const stalls = monitorEventLoopDelay({ resolution: stallResolutionMs });
const quota: QuotaLog = {
  take: (ask) => {
    const askedMs = performance.now();
    return log.take(ask).pipe(
      tap(() => {
        longestAskMs = Math.max(longestAskMs, performance.now() - askedMs);
      }),
    );
  },
  giveBack: (...args) => log.giveBack(...args),
  record: (...args) => log.record(...args),
  refused: (refusal) => log.refused(refusal),
  onRest: (tell) => log.onRest(tell),
  ready: () => log.ready(),
  fleet: () => log.fleet(),
};
const stores = { ...openStores(config, parts), quota };
const { house, worker } = startWorker(config, stores, parts, (error) => {
  throw error;
});

function tell(kind: Told['kind']): void {
  const limiters = [...house.destinations.values()].map(({ limiter }) => limiter);
  const told: Told = {
    kind,
    settled: worker.settled - warmUps,
    roundTrips: log.roundTrips - warmUpTrips,
    longestAskMs,
    longestStallMs: Math.max(0, stalls.max / 1e6 - stallResolutionMs),
    splitAmong: Math.max(...limiters.map((limiter) => limiter.snapshot(systemClock.now()).splitAmong)),
    factor: Math.min(1, ...limiters.flatMap((limiter) => limiter.uses(systemClock.now()).map(({ factor }) => factor))),
  };
  // The bench may be over meanwhile.
  process.send?.(told, undefined, undefined, () => undefined);
}

function produce(id: string, key: string, call: Readonly<Record<string, unknown>>): void {
  const value = Buffer.from(JSON.stringify({ id, ...call }));
  stores.sink.append({ topic: 'calls', key: Buffer.from(key), value, headers: [] }).subscribe({
    error: (error: unknown) => {
      throw error;
    },
  });
}

function message(app: string, n: number): void {
  const chat = `oc_${n % chats}`;
  const body = { receive_id: chat, msg_type: 'text', content: JSON.stringify({ text: `message ${n}` }) };
  const query = { receive_id_type: 'chat_id' };
  produce(`${app}-${n}`, chat, { app, path: '/open-apis/im/v1/messages', query, body });
}

/** A few at a time, as they come from Kafka: a loop that is held up sends late what was granted before. */
function handIn(first: number): void {
  const end = Math.min(first + 25, from + calls);
  for (let n = first; n < end; n++) message('cli_bench', n);
  if (end < from + calls) setTimeout(() => handIn(end), 5);
}

process.on('message', (asked) => {
  if (asked === 'status') tell('status');
  if (asked === 'go') handIn(from);
});
process.on('disconnect', () => process.exit());

// Calls of another app first: sockets are opened and code is compiled before it counts.
for (let n = from; n < from + warmUps; n++) message('cli_warm', n);
const whenReady = setInterval(() => {
  if (!log.ready() || worker.settled < warmUps) return;
  clearInterval(whenReady);
  warmUpTrips = log.roundTrips;
  longestAskMs = 0;
  stalls.reset();
  stalls.enable();
  tell('ready');
}, 20);
