import { type ChildProcess, fork } from 'node:child_process';

import { type Admin, Kafka, logLevel } from 'kafkajs';

import type { Finished, Task } from './child.ts';

/** Where a round takes place. */
export interface Place {
  readonly brokers: readonly string[];
  readonly redisUrl: string;
}

/** One round: who runs, against which upstream, how many calls. */
export interface Round {
  readonly who: 'control' | 'larkspur';
  readonly delayMs: number;
  readonly calls: number;
  readonly inFlight: number;
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

/** Starts a child of this folder and resolves with its first message. */
export async function start<T>(file: string, env: Record<string, string>): Promise<{ child: ChildProcess; first: T }> {
  const child = fork(new URL(file, import.meta.url), { env: { ...process.env, ...env }, execArgv: ['--import', 'tsx', ...profiling] });
  const first = await new Promise<T>((resolve, reject) => {
    child.once('message', (message) => resolve(message as T));
    child.once('exit', (code) => reject(new Error(`${file} ended with ${String(code)}`)));
  });
  return { child, first };
}

/** Ends a child. */
export async function end(child: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => child.once('exit', resolve));
  if (profileFolder === undefined) child.kill('SIGKILL');
  else child.disconnect();
  await gone;
}

/** Fresh topics with `calls` records over 1,000 keys; what `work` returns is returned. */
export async function onFreshTopics<T>(
  { brokers }: Place,
  calls: number,
  work: (prefix: string, kafka: Kafka, admin: Admin) => Promise<T>,
): Promise<T> {
  const prefix = `bench-${process.pid}-${++rounds}.`;
  const kafka = new Kafka({ brokers: [...brokers], clientId: 'bench', logLevel: logLevel.NOTHING });
  const admin = kafka.admin();
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  await Promise.all([admin.connect(), producer.connect()]);
  const topics = ['calls', 'results', 'dead-letters'].map((name) => prefix + name);
  try {
    await admin.createTopics({ topics: topics.map((topic) => ({ topic, numPartitions: partitions, replicationFactor: 1 })) });
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

/** Runs one contestant over one backlog. */
export async function runRound(place: Place, round: Round): Promise<Finished> {
  const stub = await start<{ port: number }>('./stub.ts', { DELAY_MS: String(round.delayMs) });
  try {
    return await onFreshTopics(place, round.calls, async (prefix) => {
      const task: Task = {
        ...place,
        prefix,
        upstreamUrl: `http://127.0.0.1:${stub.first.port}`,
        calls: round.calls,
        inFlight: round.inFlight,
      };
      const { child, first } = await start<Finished>(`./${round.who}.ts`, { BENCH_TASK: JSON.stringify(task) });
      await end(child);
      return first;
    });
  } finally {
    await end(stub.child);
  }
}
