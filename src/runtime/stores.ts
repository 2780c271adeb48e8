import { openEmbedded } from '../adapters/embedded/embedded.ts';
import { createKafkaSink } from '../adapters/kafka/sink.ts';
import { createKafkaSource } from '../adapters/kafka/source.ts';
import { RedisClaimStore } from '../adapters/redis/claim-store.ts';
import { RedisConnection } from '../adapters/redis/client.ts';
import type { Config } from '../config/config.ts';
import { LarkspurError } from '../model/errors.ts';
import { topicDeclarations } from '../model/topics.ts';
import type { ClaimStore } from '../ports/claim-store.ts';
import type { Clock, Timers } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { Random } from '../ports/random.ts';
import type { RecordSink } from '../ports/record-sink.ts';
import type { RecordSource } from '../ports/record-source.ts';

/** What every adapter takes from the process. */
export interface WorldParts {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** Where records and claims live: Kafka and Redis by address, or one folder. */
export interface Stores {
  readonly mode: 'embedded' | 'kafka';
  readonly sink: RecordSink;
  readonly claims: ClaimStore;
  /** A member of the workers' group, reading `calls`. */
  source(): RecordSource;
  /** What is not there at present, in words; empty when all is well. Upstreams are never part of it. */
  missing(): readonly string[];
  /** Ends the connections, sources first. What was appended should be flushed before. */
  close(): Promise<void>;
}

/** Opens the stores that the configuration names. Connects in the background and waits as long as it takes. */
export function openStores(config: Config, parts: WorldParts): Stores {
  return config.kafka === undefined ? embeddedStores(config, parts) : kafkaStores(config, config.kafka, parts);
}

const inputTopics = ['calls'];

function embeddedStores(config: Config, { clock, timers, log }: WorldParts): Stores {
  const store = openEmbedded({ data: config.data, clock, timers, logger: log, topics: topicDeclarations });
  return {
    mode: 'embedded',
    sink: store.sink,
    claims: store.claims,
    source: () => store.source('larkspur-worker', inputTopics),
    missing: () => (store.ready() ? [] : [`the data folder ${config.data} takes no writes`]),
    close: () => store.close(),
  };
}

function kafkaStores(config: Config, kafka: NonNullable<Config['kafka']>, parts: WorldParts): Stores {
  if (config.redis === undefined) {
    throw new LarkspurError('config_invalid', 'kafka is configured and redis is not', {
      cure: 'Set redis.url (or LARKSPUR_REDIS_URL): claims and tokens of several workers live there.',
    });
  }
  const shared = { ...parts, logger: parts.log, client: kafka, prefix: kafka.topicPrefix };
  const redis = new RedisConnection({ ...parts, logger: parts.log, url: config.redis.url });
  const claims = new RedisClaimStore(redis, parts.log, { keyPrefix: config.redis.keyPrefix });
  const sink = createKafkaSink(shared);
  const sources: ReturnType<typeof createKafkaSource>[] = [];
  return {
    mode: 'kafka',
    sink,
    claims,
    source: () => {
      const source = createKafkaSource({ ...shared, group: kafka.group, topics: inputTopics });
      sources.push(source);
      return source;
    },
    missing: () => [
      ...(sources.every((source) => source.ready())
        ? []
        : ['Kafka: no partitions assigned, or nothing fetched lately']),
      ...(claims.ready() ? [] : ['Redis does not answer']),
    ],
    close: async () => {
      await Promise.all(sources.map((source) => source.close()));
      await sink.close();
      await redis.close();
    },
  };
}
