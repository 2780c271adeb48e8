import { containedKafka, containedRedis, dockerAnswers } from './containers.ts';
import { LocalKafka } from './local-kafka.ts';
import { LocalRedis, redisProgram } from './local-redis.ts';

/** A real Kafka and Redis for the tests, or what is missing to have them. */
export interface Services {
  readonly kafka: { readonly brokers: string[]; readonly via: string } | { readonly missing: string };
  readonly redis: { readonly url: string; readonly via: string } | { readonly missing: string };
  /** Ends what was started here; nothing that came from the environment. */
  stop(): Promise<void>;
}

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
  return {
    kafka: 'missing' in kafka ? kafka : { brokers: kafka.address.split(','), via: kafka.via },
    redis: 'missing' in redis ? redis : { url: redis.address, via: redis.via },
    stop: async () => {
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
