import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';

import { type Admin, Kafka, logLevel } from 'kafkajs';

import { delayTopics } from '../../../src/model/delay-topics.ts';

import type { Finished, Task } from './child.ts';
import { type Latency, measureLatency } from './latency.ts';
import type { Watched } from './watched.ts';
import type { Safety } from './without.ts';

/** Where a round takes place. */
export interface Place {
  readonly brokers: readonly string[];
  readonly redisUrl: string;
  /** Folder of the compiled contestants. */
  readonly built: string;
}

/** One round: who runs, against which upstream, how many calls. */
export interface Round {
  readonly who: 'control' | 'larkspur';
  readonly delayMs: number;
  readonly calls: number;
  readonly inFlight: number;
  readonly without?: Safety;
  readonly watched?: Watched;
}

const partitions = 12;
const keys = 1_000;
const valueBytes = 500;
let rounds = 0;

/** A call of about 500 bytes. */
export function callValue(n: number): string {
  const call = { upstream: 'stub', path: '/open-apis/im/v1/messages', body: { n, text: '' } };
  const pad = valueBytes - JSON.stringify(call).length;
  return JSON.stringify({ ...call, body: { n, text: 'x'.repeat(Math.max(0, pad)) } });
}

// A profile is written to the folder named here, when the child ends by itself.
const profileFolder = process.env['BENCH_PROFILE'];
const profiling = profileFolder === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', profileFolder];

// What the image starts Node with; the control gets the same.
const nodeFlags = ['--max-semi-space-size=32'];

interface Tells {
  readonly metricsUrl?: string;
}

/** Starts a compiled child and resolves with its first message; where it tells of its metrics, they are read each second. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- names what the child is known to send
async function start<T>(file: string, env: Record<string, string>): Promise<{ child: ChildProcess; first: T }> {
  const child = fork(file, { env: { ...process.env, ...env }, execArgv: [...nodeFlags, ...profiling] });
  const first = await new Promise<T>((resolve, reject) => {
    child.on('message', (message) => {
      const { metricsUrl } = message as Tells;
      if (metricsUrl === undefined) resolve(message as T);
      else readEachSecond(metricsUrl, child);
    });
    child.once('exit', (code) => reject(new Error(`${file} ended with ${String(code)}`)));
  });
  return { child, first };
}

function readEachSecond(url: string, child: ChildProcess): void {
  const headers = { accept: 'application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5' };
  const reading = setInterval(
    () =>
      void fetch(url, { headers }).then(
        (page) => page.text(),
        () => undefined,
      ),
    1_000,
  );
  child.once('exit', () => clearInterval(reading));
}

/** Starts a compiled child for as long as some work lasts. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- names what the child is known to send
export async function withChild<T, R>(
  file: string,
  env: Record<string, string>,
  work: (first: T) => Promise<R>,
): Promise<R> {
  const { child, first } = await start<T>(file, env);
  try {
    return await work(first);
  } finally {
    await end(child);
  }
}

/** Ends a child. */
async function end(child: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => child.once('exit', resolve));
  if (profileFolder === undefined) child.kill('SIGKILL');
  else child.disconnect();
  await gone;
}

/** Fresh topics with `calls` records over 1,000 keys; what `work` returns is returned. */
async function onFreshTopics<T>(
  { brokers }: Place,
  calls: number,
  work: (prefix: string, kafka: Kafka, admin: Admin) => Promise<T>,
): Promise<T> {
  const prefix = `bench-${process.pid}-${++rounds}.`;
  const kafka = new Kafka({ brokers: [...brokers], clientId: 'bench', logLevel: logLevel.NOTHING });
  const admin = kafka.admin();
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  await Promise.all([admin.connect(), producer.connect()]);
  const topics = ['calls', ...delayTopics, 'results', 'dead-letters'].map((name) => prefix + name);
  try {
    await admin.createTopics({
      topics: topics.map((topic) => ({ topic, numPartitions: partitions, replicationFactor: 1 })),
      waitForLeaders: false,
    });
    await untilThere(admin, topics);
    for (let at = 0; at < calls; at += 1_000) {
      const messages = Array.from({ length: Math.min(1_000, calls - at) }, (_, i) => ({
        key: `k${(at + i) % keys}`,
        value: callValue(at + i),
      }));
      await producer.send({ topic: `${prefix}calls`, acks: -1, messages });
    }
    return await work(prefix, kafka, admin);
  } finally {
    await admin.deleteTopics({ topics }).catch(() => undefined);
    await Promise.all([admin.disconnect(), producer.disconnect()]);
  }
}

/** What kafkajs waits for itself fails at once on a broker that has not heard of a topic yet. */
async function untilThere(admin: Admin, topics: readonly string[]): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      await admin.fetchTopicMetadata({ topics: [...topics] });
      return;
    } catch (error) {
      if (tries === 50) throw error;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}

/** Runs one contestant over one backlog. */
export async function runRound(place: Place, round: Round): Promise<Finished> {
  return withStub(place, round.delayMs, (upstreamUrl) =>
    onFreshTopics(place, round.calls, async (prefix) => {
      const task = taskOf(place, prefix, upstreamUrl, round.calls, round.inFlight, round);
      const { child, first } = await start<Finished>(join(place.built, `${round.who}.js`), task);
      await end(child);
      return first;
    }),
  );
}

/** What a contestant adds to a 10 ms upstream when it is offered 500 calls a second for 15 seconds. */
export async function runLatency(place: Place, who: Round['who']): Promise<Latency> {
  return withStub(place, 10, (upstreamUrl) =>
    onFreshTopics(place, warmUpCalls, async (prefix) => {
      const task = taskOf(place, prefix, upstreamUrl, warmUpCalls, 256);
      const { child } = await start<Finished>(join(place.built, `${who}.js`), task);
      const latency = await measureLatency(place.brokers, prefix, 500, 15);
      await end(child);
      return latency;
    }),
  );
}

// Both contestants are measured when their code is hot.
const warmUpCalls = 20_000;

async function withStub<T>(place: Place, delayMs: number, work: (upstreamUrl: string) => Promise<T>): Promise<T> {
  return withChild<{ port: number }, T>(join(place.built, 'stub.js'), { DELAY_MS: String(delayMs) }, ({ port }) =>
    work(`http://127.0.0.1:${port}`),
  );
}

function taskOf(
  { brokers, redisUrl }: Place,
  prefix: string,
  upstreamUrl: string,
  calls: number,
  inFlight: number,
  { without, watched }: Pick<Round, 'without' | 'watched'> = {},
): Record<string, string> {
  const task: Task = { brokers, redisUrl, prefix, upstreamUrl, calls, inFlight, without, watched };
  return { BENCH_TASK: JSON.stringify(task) };
}
