import { randomUUID } from 'node:crypto';

import { MemoryCancelBus } from '../adapters/embedded/cancel-bus.ts';
import { openEmbedded } from '../adapters/embedded/embedded.ts';
import { MemoryQuotaLog } from '../adapters/embedded/quota-log.ts';
import { MemoryRuleShelf } from '../adapters/embedded/rule-shelf.ts';
import type { ReadinessCheck } from '../adapters/http/admin-routes.ts';
import { KafkaFinder } from '../adapters/kafka/finder.ts';
import { tuningFor } from '../adapters/kafka/life.ts';
import { KafkaReader } from '../adapters/kafka/reader.ts';
import { createKafkaSink } from '../adapters/kafka/sink.ts';
import { createKafkaSource } from '../adapters/kafka/source.ts';
import { kafkaTail } from '../adapters/kafka/tail.ts';
import { RedisAnswerCache } from '../adapters/redis/answer-cache.ts';
import { RedisBreakerBus } from '../adapters/redis/breaker-bus.ts';
import { RedisCancelBus } from '../adapters/redis/cancel-bus.ts';
import { RedisClaimStore } from '../adapters/redis/claim-store.ts';
import { ClaimsThroughOutage } from '../adapters/redis/claims-through-outage.ts';
import { RedisConnection } from '../adapters/redis/client.ts';
import { RedisEntryStore } from '../adapters/redis/entry-store.ts';
import { RedisParkedRegister } from '../adapters/redis/parked-register.ts';
import { RedisQuotaLog } from '../adapters/redis/quota-log.ts';
import { RedisRuleShelf } from '../adapters/redis/rule-shelf.ts';
import { memoryAnswerCache } from '../adapters/system/answer-cache.ts';
import type { Config } from '../config/config.ts';
import { delayTopics } from '../model/delay-topics.ts';
import { LarkspurError } from '../model/errors.ts';
import { routesGroup } from '../model/routes-group.ts';
import { topicDeclarations } from '../model/topics.ts';
import { noMetrics } from '../ports/metrics.ts';
import type { RecordSource } from '../ports/record-source.ts';

import type { Stores, WorldParts } from './stores.ts';

/** Opens the stores that the configuration names. Connects in the background and waits as long as it takes. */
export function openStores(config: Config, parts: WorldParts): Stores {
  return config.kafka === undefined ? embeddedStores(config, parts) : kafkaStores(config, config.kafka, parts);
}

const inputTopics = ['calls', ...delayTopics];
const eventTopics = ['events'];

function embeddedStores(config: Config, { clock, timers, log }: WorldParts): Stores {
  const store = openEmbedded({ data: config.data, clock, timers, logger: log, topics: topicDeclarations });
  const stores: Stores = {
    mode: 'embedded',
    group: 'larkspur-worker',
    sink: store.sink,
    claims: store.claims,
    parked: store.parked,
    cancels: new MemoryCancelBus(),
    quota: new MemoryQuotaLog(clock),
    answers: () => memoryAnswerCache(clock),
    eventClaims: store.eventClaims,
    requestClaims: store.requestClaims,
    tokenClaims: store.tokenClaims,
    shelf: new MemoryRuleShelf(clock),
    entries: store.entries,
    finder: store.finder,
    source: () => store.source(stores.group, inputTopics),
    eventSource: (profile) =>
      store.source(routesGroup(stores.group, profile), eventTopics, startOf(stores.group, profile)),
    readiness: () => [
      store.ready()
        ? { name: 'store', ready: true }
        : { name: 'store', ready: false, reason: `the data folder ${config.data} takes no writes: is the disk full?` },
    ],
    lost: store.lost,
    reader: store.reader,
    walkSource: (name, topic) => store.source(stores.walkGroup(name), [topic]),
    walkGroup: (name) => `larkspur-worker-${name}`,
    tail: (topic, last) => store.tail(topic, { last, follow: false }),
    setRedisTimeoutMs: () => undefined,
    close: () => store.close(),
  };
  return stores;
}

function kafkaStores(config: Config, kafka: NonNullable<Config['kafka']>, parts: WorldParts): Stores {
  if (config.redis === undefined) {
    throw new LarkspurError('config_invalid', 'kafka is configured and redis is not', {
      cure: 'Set redis.url (or LARKSPUR_REDIS_URL): claims and tokens of several workers live there.',
    });
  }
  const shared = { ...parts, logger: parts.log, client: kafka, prefix: kafka.topicPrefix };
  const { url, cluster, keyPrefix, replicas, replicasWaitMs: waitMs, timeoutMs } = config.redis;
  const connection = { url, cluster, commandTimeoutMs: timeoutMs, logger: parts.log };
  const redis = new RedisConnection({ ...parts, ...connection });
  // Its state shows in the other one's gauge: both lead to the same servers.
  const unwatched = { ...parts.metrics, gauge: () => undefined };
  const waiting = replicas === 0 ? undefined : new RedisConnection({ ...parts, ...connection, metrics: unwatched });
  const inRedis = new RedisClaimStore(redis, parts.log, {
    keyPrefix,
    ...(waiting === undefined ? {} : { replicas: { connection: waiting, metrics: parts.metrics, replicas, waitMs } }),
  });
  const claims = new ClaimsThroughOutage(inRedis, parts);
  const quota = new RedisQuotaLog(redis, parts.timers, parts.log, { keyPrefix });
  const parked = new RedisParkedRegister(redis, parts.log, { keyPrefix, group: kafka.topicPrefix + kafka.group });
  const eventClaims = new RedisClaimStore(redis, parts.log, { keyPrefix: `${keyPrefix}event:` });
  const requestClaims = new RedisClaimStore(redis, parts.log, { keyPrefix: `${keyPrefix}request:` });
  const tokenClaims = new RedisClaimStore(redis, parts.log, { keyPrefix: `${keyPrefix}token:` });
  const reader = new KafkaReader(shared);
  const finder = new KafkaFinder(reader, parts.timers);
  const sink = createKafkaSink({ ...shared, once: { topics: new Set(eventTopics), finder } });
  const answers = `${keyPrefix}answer:`;
  const sources: ReturnType<typeof createKafkaSource>[] = [];
  const member = (group: string, topics: readonly string[], startsAs?: string): RecordSource => {
    const source = createKafkaSource({ ...shared, group, topics, startsAs, tuning: tuningFor(kafka.sessionTimeoutMs) });
    sources.push(source);
    return source;
  };
  const stores: Stores = {
    mode: 'kafka',
    group: kafka.group,
    sink,
    claims,
    parked,
    cancels: new RedisCancelBus(redis, keyPrefix),
    fleet: new RedisBreakerBus(redis, keyPrefix),
    quota,
    answers: (upstream) => new RedisAnswerCache({ ...parts, redis, prefix: `${answers}${upstream}:` }),
    eventClaims,
    requestClaims,
    tokenClaims,
    shelf: new RedisRuleShelf({ redis, timers: parts.timers, keyPrefix, process: randomUUID() }),
    entries: new RedisEntryStore(redis, `${keyPrefix}entry:`),
    finder,
    source: () => member(kafka.group, inputTopics),
    eventSource: (profile) => member(routesGroup(kafka.group, profile), eventTopics, startOf(kafka.group, profile)),
    readiness: () => [
      check(
        'kafka',
        sink.ready() && sources.every((source) => source.ready()),
        'no partitions assigned, nothing fetched lately, or writes fail',
      ),
      check('redis', claims.ready(), 'Redis does not answer: calls whose platform knows a key go on, the others wait'),
    ],
    reader,
    walkSource: (name, topic) =>
      createKafkaSource({ ...shared, metrics: noMetrics, group: stores.walkGroup(name), topics: [topic] }),
    walkGroup: (name) => `${kafka.group}-${name}`,
    tail: (topic, last) => kafkaTail(topic, { ...shared, last, follow: false }),
    setRedisTimeoutMs: (ms) => {
      redis.setTimeoutMs(ms);
      waiting?.setTimeoutMs(ms);
    },
    close: async () => {
      await Promise.all(sources.map((source) => source.close()));
      finder.close();
      await sink.close();
      claims.close();
      inRedis.close();
      parked.close();
      await quota.close();
      for (const store of [eventClaims, requestClaims, tokenClaims]) store.close();
      await Promise.all([redis.close(), waiting?.close()]);
    },
  };
  return stores;
}

/** A new profile takes its routes over from where the workers without one are: what they have done is not done again. */
function startOf(group: string, profile: string | undefined): string | undefined {
  return profile === undefined ? undefined : routesGroup(group);
}

function check(name: string, ready: boolean, reason: string): ReadinessCheck {
  return ready ? { name, ready } : { name, ready, reason };
}
