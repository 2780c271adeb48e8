import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Kafka, logLevel } from 'kafkajs';
import { Pool } from 'undici';

import { atLeast, atMost, type Report, reportOf } from '../../../src/runtime/report.ts';
import { messageEvent } from '../../../src/sandbox/events/bodies.ts';
import { seal, type SealedRequest } from '../../../src/sandbox/events/seal.ts';
import { startServices } from '../../support/services/services.ts';
import { seededRandom } from '../../support/virtual-time.ts';
import type { BenchOptions } from '../main.ts';

import { app, type Contestant, encryptKey, type Place, startControl, startLarkspur } from './contestants.ts';

const defaultEvents = 20_000;
const warmUpEvents = 4_000;
const chats = 500;
const atOnce = 128;

interface Round {
  readonly perSecond: number;
  readonly perCpuSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly rssMb: number;
  readonly notTaken: number;
}

/**
 * How many signed, encrypted events a second one ingress verifies, decrypts, deduplicates and puts on Kafka, a tenth of them
 * twice, beside fastify and kafkajs that do none of this. All requests are sealed before the clock starts.
 */
export async function ingressReport({ rounds, calls, tell }: BenchOptions): Promise<Report> {
  const events = calls === 0 ? defaultEvents : calls;
  const services = await startServices();
  if ('missing' in services.kafka || 'missing' in services.redis) throw new Error('needs a Kafka and a Redis');
  const folder = mkdtempSync(join(tmpdir(), 'larkspur-bench-'));
  const prefix = `bench-${process.pid}.`;
  const place: Place = { brokers: services.kafka.brokers, redisUrl: services.redis.url, prefix, folder };
  try {
    await makeTopics(place);
    const all: Record<'control' | 'larkspur', Round[]> = { control: [], larkspur: [] };
    for (let round = 0; round < rounds; round++) {
      for (const [who, start] of [
        ['control', startControl],
        ['larkspur', startLarkspur],
      ] as const) {
        const measured = await measure(await start(place), events, `${round}`);
        tell(`${who}: ${Math.round(measured.perSecond)} events/s, p99 ${Math.round(measured.p99Ms)} ms`);
        all[who].push(measured);
      }
    }
    const control = middle(all.control);
    const ours = middle(all.larkspur);
    const bars = [
      atMost(
        'notTaken',
        all.larkspur.reduce((total, { notTaken }) => total + notTaken, 0),
        0,
      ),
      atLeast('perSecond', Math.round(ours.perSecond), 3_000),
      atLeast('perCpuSecond', Math.round(ours.perCpuSecond), 3_000),
    ];
    // What verifying, decrypting and knowing repeats costs; no bar, since the control does nothing of the kind.
    const ratio = round(ours.perSecond / control.perSecond);
    return reportOf('ingress', bars, { events, rounds, ratio, larkspur: ours, control });
  } finally {
    rmSync(folder, { recursive: true, force: true });
    await services.stop();
  }
}

async function makeTopics({ brokers, prefix }: Place): Promise<void> {
  const admin = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    await admin.createTopics({
      topics: ['events', 'control'].map((name) => ({ topic: prefix + name, numPartitions: 12, replicationFactor: 1 })),
    });
  } finally {
    await admin.disconnect();
  }
}

async function measure(contestant: Contestant, events: number, salt: string): Promise<Round> {
  const pool = new Pool(contestant.url, { connections: atOnce, pipelining: 1 });
  try {
    await send(pool, sealed(warmUpEvents, `warm-${salt}`));
    const requests = sealed(events, salt);
    const cpuBeforeMs = contestant.cpuMs();
    const startMs = performance.now();
    const { tookMs, notTaken } = await send(pool, requests);
    const seconds = (performance.now() - startMs) / 1_000;
    const cpuSeconds = (contestant.cpuMs() - cpuBeforeMs) / 1_000;
    const sorted = tookMs.sort((a, b) => a - b);
    const at = (share: number) => round(sorted[Math.floor(sorted.length * share)] ?? 0);
    return {
      perSecond: Math.round(requests.length / seconds),
      perCpuSecond: Math.round(requests.length / cpuSeconds),
      ...{ p50Ms: at(0.5), p99Ms: at(0.99), rssMb: Math.round(contestant.rssMb()), notTaken },
    };
  } finally {
    await pool.close();
    await contestant.stop();
  }
}

/** Every tenth a second time, far behind the first. */
function sealed(count: number, salt: string): SealedRequest[] {
  const random = seededRandom(1);
  const wallMs = Date.now();
  const target = { urls: [], app, encryptKey };
  const once = Array.from({ length: count }, (_, n) => {
    const subject = `oc_${n % chats}`;
    return seal(target, messageEvent(target, { n, subject, wallMs, salt }).body, wallMs, random);
  });
  return [...once, ...once.filter((_, n) => n % 10 === 0)];
}

async function send(pool: Pool, requests: readonly SealedRequest[]): Promise<{ tookMs: number[]; notTaken: number }> {
  const tookMs: number[] = [];
  let notTaken = 0;
  let next = 0;
  const path = `/feishu/${app}/events`;
  const carry = async (): Promise<void> => {
    for (let request = requests[next++]; request !== undefined; request = requests[next++]) {
      const startMs = performance.now();
      const answer = await pool.request({ method: 'POST', path, headers: request.headers, body: request.body });
      await answer.body.dump();
      tookMs.push(performance.now() - startMs);
      if (answer.statusCode !== 200) notTaken++;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, carry));
  return { tookMs, notTaken };
}

function middle(all: readonly Round[]): Round {
  const sorted = all.toSorted((a, b) => a.perSecond - b.perSecond);
  return (
    sorted[Math.floor(sorted.length / 2)] ?? {
      perSecond: 0,
      perCpuSecond: 0,
      p50Ms: 0,
      p99Ms: 0,
      rssMb: 0,
      notTaken: 0,
    }
  );
}

const round = (value: number): number => Math.round(value * 100) / 100;
