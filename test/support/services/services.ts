import { Redis } from 'ioredis';

import { containedKafka, containedRedis, dockerAnswers } from './containers.ts';
import { LocalKafka } from './local-kafka.ts';
import { LocalRedis } from './local-redis.ts';
import { lineOf, type RedisLine, redisLines, redisProgram } from './redis-programs.ts';

/** A real Kafka and Redis for the tests, or what is missing to have them. */
export interface Services {
  readonly kafka: { readonly brokers: string[]; readonly via: string } | { readonly missing: string };
  readonly redis: { readonly url: string; readonly via: string } | { readonly missing: string };
  /** One server for each line of Redis; the one above stands for its own line. */
  readonly redisOfEachLine: readonly RedisOfLine[];
  /** Ends what was started here; nothing that came from the environment. */
  stop(): Promise<void>;
}

/** A server of one line of Redis, or what is missing to have one. */
export type RedisOfLine = { readonly line: RedisLine } & (
  { readonly url: string; readonly version: string; readonly via: string } | { readonly missing: string }
);

interface Started {
  readonly address: string;
  readonly via: string;
  stop(): Promise<unknown>;
}

/**
 * Finds or starts Kafka and Redis by the first way that works: `KAFKA_BROKERS` / `REDIS_URL`, a Docker engine, programs
 * of this machine or from Maven Central. Never rejects; what cannot be had is named in `missing`.
 */
export async function startServices(): Promise<Services> {
  const docker = await dockerAnswers();
  const [kafka, redis] = await Promise.all([
    firstOf([
      () => given('KAFKA_BROKERS'),
      () => (docker ? contained(containedKafka) : refuse('no Docker engine answers')),
      localKafka,
    ]),
    firstOf([
      () => given('REDIS_URL'),
      () => (docker ? contained(containedRedis) : refuse('no Docker engine answers')),
      localRedis,
    ]),
  ]);
  const others: LocalRedis[] = [];
  const redisOfEachLine = 'missing' in redis ? [] : await eachLine(redis, others);
  return {
    kafka: 'missing' in kafka ? kafka : { brokers: kafka.address.split(','), via: kafka.via },
    redis: 'missing' in redis ? redis : { url: redis.address, via: redis.via },
    redisOfEachLine,
    stop: async () => {
      await Promise.all(others.map((other) => other.stop()));
      await Promise.all([kafka, redis].map(async (service) => 'missing' in service || service.stop()));
    },
  };
}

async function firstOf(ways: readonly (() => Promise<Started>)[]): Promise<Started | { missing: string }> {
  const reasons: string[] = [];
  for (const way of ways) {
    try {
      return await way();
    } catch (error) {
      reasons.push(error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error));
    }
  }
  return { missing: reasons.join('; ') };
}

const refuse = (why: string): Promise<never> => Promise.reject(new Error(why));

function given(variable: string): Promise<Started> {
  const address = process.env[variable];
  if (address === undefined || address === '') return refuse(`${variable} is not set`);
  return Promise.resolve({ address, via: variable, stop: () => Promise.resolve() });
}

async function contained(start: () => Promise<Omit<Started, 'via'>>): Promise<Started> {
  const container = await start();
  return { address: container.address, via: 'Testcontainers', stop: () => container.stop() };
}

async function localKafka(): Promise<Started> {
  const kafka = new LocalKafka();
  try {
    await kafka.start();
  } catch (error) {
    await kafka.stop();
    throw error;
  }
  return { address: kafka.brokers.join(','), via: 'local broker from Maven Central jars', stop: () => kafka.stop() };
}

async function localRedis(): Promise<Started> {
  const { via } = await redisProgram();
  const redis = new LocalRedis();
  await redis.start();
  return { address: redis.url, via, stop: () => redis.stop() };
}

/** The given server for its own line, programs of this machine for the others; those are added to `started`. */
async function eachLine(main: Started, started: LocalRedis[]): Promise<RedisOfLine[]> {
  const client = new Redis(main.address);
  const info = await client.info('server');
  client.disconnect();
  const version = /^redis_version:(\S+)/m.exec(info)?.[1] ?? '';
  return Promise.all(
    redisLines.map(async (line) => {
      if (line === lineOf(version)) return { line, url: main.address, version, via: main.via };
      try {
        const { program, via, version: found } = await redisProgram(line);
        const redis = new LocalRedis({ program });
        started.push(redis);
        await redis.start();
        return { line, url: redis.url, version: found, via };
      } catch (error) {
        return { line, missing: error instanceof Error ? error.message : String(error) };
      }
    }),
  );
}
