import type { TestProject } from 'vitest/node';

import { type RedisOfLine, startServices } from './services.ts';

declare module 'vitest' {
  interface ProvidedContext {
    kafkaBrokers: string[] | null;
    redisUrl: string | null;
    redisOfEachLine: readonly RedisOfLine[];
    /** Why a service is not there; `''` for one that is. */
    missingServices: { kafka: string; redis: string };
  }
}

const yellow = (text: string): string => `\u001b[33m${text}\u001b[0m`;

/** Finds or starts Kafka and Redis once for all suites of the project; returns what ends them. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const services = await startServices();
  const { kafka, redis } = services;
  const missing = { kafka: 'missing' in kafka ? kafka.missing : '', redis: 'missing' in redis ? redis.missing : '' };
  for (const [name, why] of Object.entries(missing)) {
    if (why === '') continue;
    if (process.env['LARKSPUR_REQUIRE_SERVICES'] === '1') throw new Error(`${name} is required and missing: ${why}`);
    console.warn(yellow(`Suites that need ${name} are skipped: ${why}`));
  }
  if (!('missing' in kafka)) console.info(`Kafka: ${kafka.brokers.join(',')} (${kafka.via})`);
  if (!('missing' in redis)) console.info(`Redis: ${redis.url} (${redis.via})`);
  for (const server of services.redisOfEachLine) {
    if ('missing' in server)
      console.warn(yellow(`Contract suites on Redis ${server.line} are skipped: ${server.missing}`));
    else console.info(`Contract suites run on Redis ${server.version} (${server.via})`);
  }
  project.provide('redisOfEachLine', services.redisOfEachLine);
  project.provide('kafkaBrokers', 'missing' in kafka ? null : kafka.brokers);
  project.provide('redisUrl', 'missing' in redis ? null : redis.url);
  project.provide('missingServices', missing);
  return () => services.stop();
}
