import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { Child, freePorts } from '../../support/services/child.ts';

/** What the control is told. */
export interface ControlTask {
  readonly brokers: readonly string[];
  readonly topic: string;
  readonly port: number;
}

/** Who takes events over HTTP, as a process of its own. */
export interface Contestant {
  readonly url: string;
  /** User and system time so far, milliseconds. */
  cpuMs(): number;
  rssMb(): number;
  stop(): Promise<void>;
}

/** Where contestants run. */
export interface Place {
  readonly brokers: readonly string[];
  readonly redisUrl: string;
  readonly prefix: string;
  readonly folder: string;
}

export const app = 'cli_bench';
export const encryptKey = 'bench-encrypt-key';
const ticksPerSecond = 100;
const startLimitMs = 60_000;
const tsx = ['--max-semi-space-size=32', '--import', import.meta.resolve('tsx')];
// A profile is written to the folder named here, when the contestant ends by itself.
const profileFolder = process.env['BENCH_PROFILE'];
const profiling = profileFolder === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', profileFolder];

/** fastify and kafkajs, nothing else. */
export async function startControl({ brokers, prefix, folder }: Place): Promise<Contestant> {
  const [port = 0] = await freePorts(1);
  const task: ControlTask = { brokers, topic: `${prefix}control`, port };
  const file = join(import.meta.dirname, 'control.ts');
  const env = ['-u', 'NODE_OPTIONS', `BENCH_TASK=${JSON.stringify(task)}`, process.execPath];
  const child = new Child('env', [...env, ...tsx, file], join(folder, 'control.log'));
  return started(child, `http://127.0.0.1:${port}`, `http://127.0.0.1:${port}/livez`);
}

/** `larkspur ingress` as it is, with its access lines. */
export async function startLarkspur({ brokers, redisUrl, prefix, folder }: Place): Promise<Contestant> {
  const [port = 0, admin = 0] = await freePorts(2);
  const config = join(folder, 'larkspur.yaml');
  writeFileSync(
    config,
    `kafka: { brokers: [${brokers.join(', ')}], topicPrefix: ${prefix} }
redis: { url: ${redisUrl}, keyPrefix: '${prefix}' }
apps: [{ id: ${app}, secret: secret, encryptKey: ${encryptKey} }]
listen: { ingress: 127.0.0.1:${port}, admin: 127.0.0.1:${admin} }
`,
  );
  const main = join(import.meta.dirname, '../../../src/cli/main.ts');
  const args = [...tsx, ...profiling, main, 'ingress', '--config', config];
  const child = new Child(process.execPath, args, join(folder, 'larkspur.log'));
  return started(child, `http://127.0.0.1:${port}`, `http://127.0.0.1:${admin}/readyz`);
}

async function started(child: Child, url: string, probe: string): Promise<Contestant> {
  await child.untilReady(async () => (await fetch(probe)).ok, startLimitMs);
  return {
    url,
    cpuMs: () => {
      const [, rest = ''] = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ');
      const fields = rest.split(' ');
      return ((Number(fields[11]) + Number(fields[12])) / ticksPerSecond) * 1_000;
    },
    rssMb: () => Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1_024,
    stop: () => child.stop(profileFolder === undefined ? 0 : 10_000),
  };
}
