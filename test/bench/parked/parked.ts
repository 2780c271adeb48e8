import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { atLeast, atMost, type Report, reportOf } from '../../../src/runtime/report.ts';
import { applyPlan, topicPlan } from '../../../src/runtime/topics.ts';
import { WorkerProcess } from '../../chaos/world/processes.ts';
import { until } from '../../chaos/world/until.ts';
import { KafkaHarness } from '../../support/services/kafka-harness.ts';
import { startServices } from '../../support/services/services.ts';
import { SourceReader } from '../../support/source-reader.ts';
import { seededRandom } from '../../support/virtual-time.ts';
import type { BenchOptions } from '../main.ts';
import { quantile } from '../quantile.ts';

import { Arrivals } from './arrivals.ts';

/** What a run is made of. */
export interface ParkedPlan {
  /** Half of them are refused once, half stand behind one of those. */
  readonly calls: number;
  /** How long the delay topics hold a record, milliseconds, shortest first. */
  readonly waitsMs: readonly number[];
  /** From the start of the run until the first call is due, milliseconds: all are parked by then, and all workers new. */
  readonly parkingMs: number;
  /** Over so long after that the calls are due. */
  readonly dueOverMs: number;
  /** How the workers end while everything waits; each has a successor. */
  readonly ends: readonly ('kill' | 'drain')[];
}

const usualCalls = 100_000;
const produceAtOnce = 5_000;
const loader = import.meta.resolve('./shorter-waits.ts');

/**
 * Calls that wait in the four delay topics of a real Kafka, for times that all differ and with others of their key behind
 * them, while every worker is replaced. The topics hold their records for shorter times than usual, or it would take hours; when
 * a call is due is as real as ever.
 */
export async function parkedReport({ calls, tell }: Pick<BenchOptions, 'calls' | 'tell'>): Promise<Report> {
  const services = await startServices();
  const { kafka, redis } = services;
  try {
    if ('missing' in kafka || 'missing' in redis) throw new Error('the bench needs a real Kafka and Redis');
    const count = calls > 0 ? calls : usualCalls;
    const plan: ParkedPlan = {
      calls: count,
      waitsMs: [10_000, 30_000, 90_000, 180_000],
      parkingMs: 60_000 + count / 2,
      dueOverMs: Math.max(60_000, count * 3),
      ends: ['kill', 'drain'],
    };
    return await parkedOn({ brokers: kafka.brokers, redisUrl: redis.url }, plan, tell);
  } finally {
    await services.stop();
  }
}

/** The same on services that run already. */
export async function parkedOn(
  { brokers, redisUrl }: { readonly brokers: readonly string[]; readonly redisUrl: string },
  plan: ParkedPlan,
  tell: (line: string) => void,
): Promise<Report> {
  const { calls, waitsMs, parkingMs, dueOverMs, ends } = plan;
  const keys = calls / 2;
  const random = seededRandom(23);
  const offsetsMs = Array.from({ length: keys }, () => parkingMs + random.next() * dueOverMs);
  const kafka = new KafkaHarness(brokers);
  const folder = mkdtempSync(join(tmpdir(), 'larkspur-parked-'));
  const startedMs = Date.now();
  const arrivals = new Arrivals((key) => startedMs + (offsetsMs[key] ?? 0));
  const workers: WorkerProcess[] = [];
  try {
    const config = join(folder, 'larkspur.yaml');
    writeFileSync(config, configOf(kafka.prefix, brokers, redisUrl, await arrivals.listen()));
    process.env['LARKSPUR_BENCH_WAITS_MS'] = waitsMs.join();
    await applyPlan(kafka.admin, await topicPlan(kafka.admin), () => undefined);
    const start = async (): Promise<WorkerProcess> => {
      const log = join(folder, `worker-${workers.length}.log`);
      const worker = await WorkerProcess.start(config, log, ['--import', loader]);
      workers.push(worker);
      return worker;
    };
    let running = await Promise.all(ends.map(start));
    const produced = produce(kafka, keys);
    await until('all are parked', async () => (await heldOf(running)) >= calls, {
      progress: () => arrivals.count,
      everyMs: 250,
    });
    await produced;
    const parkedAfterMs = Date.now() - startedMs;
    tell(`${calls} calls are parked after ${Math.round(parkedAfterMs / 1_000)} s`);
    const writes = await heldOf(running);
    running = await replace(running, ends, start);
    const replacedAfterMs = Date.now() - startedMs;
    tell(
      `all workers are new after ${Math.round(replacedAfterMs / 1_000)} s; the first call is due after ${parkingMs / 1_000} s`,
    );
    const whole = calls + keys;
    // Nothing moves before the first is due.
    await until('all have been made', () => arrivals.count >= whole, {
      progress: () => arrivals.count,
      idleMs: parkingMs + 60_000,
    });
    const ended = await endedWell(kafka, calls);
    const { lateMs, behindMs } = arrivals;
    const most = (values: readonly number[]): number => values.reduce((one, other) => Math.max(one, other), -Infinity);
    const bars = [
      atMost('lost', calls - ended, 0),
      atMost('twice', arrivals.count - whole, 0),
      atMost('outOfOrder', arrivals.outOfOrder, 0),
      atMost('beforeTheirTime', lateMs.filter((ms) => ms < 0).length, 0),
      atMost('laterThan1s', lateMs.filter((ms) => ms > 1_000).length, 0),
      // Else some were never parked, or somebody was late because a worker was missing.
      atMost('parkedTooLate', Math.max(0, parkedAfterMs - parkingMs), 0),
      atMost('replacedTooLate', Math.max(0, replacedAfterMs - parkingMs), 0),
      atLeast('calls', lateMs.length + behindMs.length, calls),
    ];
    return reportOf('parked', bars, {
      ...{ calls, keys, waitsMs, parkingSeconds: parkingMs / 1_000, dueOverSeconds: dueOverMs / 1_000 },
      ...{ parkedAfterSeconds: parkedAfterMs / 1_000, replacedAfterSeconds: replacedAfterMs / 1_000 },
      writesPerCallUntilReplaced: Math.round((100 * writes) / calls) / 100,
      lateMs: { p50: quantile(lateMs, 0.5), p99: quantile(lateMs, 0.99), max: most(lateMs) },
      behindMs: { p50: quantile(behindMs, 0.5), p99: quantile(behindMs, 0.99), max: most(behindMs) },
    });
  } finally {
    delete process.env['LARKSPUR_BENCH_WAITS_MS'];
    await Promise.all(workers.map((worker) => worker.kill9()));
    arrivals.close();
    await kafka.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function configOf(prefix: string, brokers: readonly string[], redisUrl: string, port: number): string {
  return `kafka: { brokers: [${brokers.join(', ')}], topicPrefix: ${prefix}, group: ${prefix}worker, sessionTimeoutMs: 6000 }
redis: { url: ${redisUrl}, keyPrefix: '${prefix}' }
worker: { claims: { leaseMs: 14000, renewMs: 2000 } }
upstreams:
  news: { baseUrl: 'http://127.0.0.1:${port}', breaker: off, concurrency: 256, bucketConcurrency: 256, connections: 64 }
`;
}

async function produce(kafka: KafkaHarness, keys: number): Promise<void> {
  for (const name of ['first', 'next']) {
    for (let from = 0; from < keys; from += produceAtOnce) {
      const records = Array.from({ length: Math.min(produceAtOnce, keys - from) }, (_, n) => {
        const id = `${name}-${from + n}`;
        const value = Buffer.from(JSON.stringify({ id, upstream: 'news', path: `/articles/${id}` }));
        return { key: Buffer.from(`k-${from + n}`), value };
      });
      await kafka.write('calls', records);
    }
  }
}

/** Calls that these workers have written to delay topics. */
async function heldOf(workers: readonly WorkerProcess[]): Promise<number> {
  const counts = await Promise.all(workers.map((worker) => worker.metric('larkspur_held_total')));
  return counts.flat().reduce((sum, count) => sum + count, 0);
}

/** Calls with a result. One that a killed worker had written and not committed has two. */
async function endedWell(kafka: KafkaHarness, calls: number): Promise<number> {
  const source = kafka.member(kafka.unique('reader'), ['results']);
  const ids = new Set<string>();
  const reader = new SourceReader(source, (_, { value }) => {
    const { id, status } = JSON.parse(String(value)) as { id: string; status: string };
    if (status === 'ok') ids.add(id);
  });
  await until('all have a result', () => ids.size >= calls, { progress: () => ids.size, idleMs: 20_000 }).catch(
    () => undefined,
  );
  reader.unsubscribe();
  await source.close();
  return ids.size;
}

/** One after the other, so that somebody always is there. */
async function replace(
  running: readonly WorkerProcess[],
  ends: ParkedPlan['ends'],
  start: () => Promise<WorkerProcess>,
): Promise<WorkerProcess[]> {
  const successors: WorkerProcess[] = [];
  for (const [index, worker] of running.entries()) {
    if (ends[index] === 'kill') await worker.kill9();
    else await worker.drain();
    const successor = await start();
    await until('the successor has its partitions', () => successor.ready());
    successors.push(successor);
  }
  return successors;
}
