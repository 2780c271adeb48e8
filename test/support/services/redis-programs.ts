import { chmodSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { cachedFolder, maven, run } from './cache.ts';

/** The lines of Redis that Larkspur is held to; the contract suites run on one server of each. */
export const redisLines = ['6.2', '7'] as const;
export type RedisLine = (typeof redisLines)[number];

/** A `redis-server` of this machine. */
export interface RedisProgram {
  readonly program: string;
  readonly version: string;
  readonly via: string;
}

/** Names the program for all that is started here, instead of the one from the path. */
const variable = 'LARKSPUR_REDIS_SERVER';

/** Jars of Maven Central that carry a server for the common systems. */
const jars: Readonly<Record<RedisLine, string>> = {
  '6.2': 'com.github.codemonstur:embedded-redis:1.4.3',
  '7': 'org.signal:embedded-redis:0.9.1',
};
const systems: Readonly<Record<string, string>> = {
  'linux-x64': 'linux-amd64',
  'linux-arm64': 'linux-arm64',
  'darwin-x64': 'darwin-amd64',
  'darwin-arm64': 'darwin-arm64',
};

/**
 * A `redis-server` to run, of that line if one is named: the program in `LARKSPUR_REDIS_SERVER`, the one on the path, one
 * unpacked from a jar. Rejects, saying what is missing.
 */
export async function redisProgram(line?: RedisLine): Promise<RedisProgram> {
  const named = process.env[variable];
  if (named !== undefined && named !== '') {
    const found = await programAt(named, variable);
    if (found === undefined) throw new Error(`${variable} is ${named}, which is no redis-server`);
    if (line === undefined || lineOf(found.version) === line) return found;
  }
  const onPath = await programAt('redis-server', 'redis-server from the path');
  if (onPath !== undefined && (line === undefined || lineOf(onPath.version) === line)) return onPath;
  return fromJar(line ?? '6.2');
}

/** The line of a version; `undefined` for one that is not promised. */
export function lineOf(version: string): RedisLine | undefined {
  return redisLines.find((line) => version.startsWith(`${line}.`));
}

async function programAt(program: string, via: string): Promise<RedisProgram | undefined> {
  const banner = await run(program, ['--version'], 5_000).catch(() => '');
  const version = /Redis server v=(\S+)/.exec(banner)?.[1];
  return version === undefined ? undefined : { program, version, via };
}

async function fromJar(line: RedisLine): Promise<RedisProgram> {
  const artifact = jars[line];
  const system = systems[`${process.platform}-${process.arch}`];
  const none = `no redis-server ${line} on the path or in ${variable}`;
  if (system === undefined) throw new Error(none);
  const folder = await cachedFolder(`redis-${line}`, async (work) => {
    await maven('dependency:copy', `-Dartifact=${artifact}`, `-DoutputDirectory=${work}`);
    const jar = readdirSync(work).find((name) => name.endsWith('.jar')) ?? '';
    await run('unzip', ['-q', '-o', join(work, jar), `redis-server-*${system}`, '-d', work], 60_000);
    const binary = readdirSync(work).find((name) => name.endsWith(system)) ?? '';
    renameSync(join(work, binary), join(work, 'redis-server'));
    chmodSync(join(work, 'redis-server'), 0o755);
    rmSync(join(work, jar));
  }).catch((cause: unknown) => {
    throw new Error(`${none}, and ${artifact}, which carries one, could not be fetched`, { cause });
  });
  const found = await programAt(join(folder, 'redis-server'), `redis-server of ${artifact}`);
  if (found === undefined) throw new Error(`${none}, and the one of ${artifact} does not run here`);
  return found;
}
