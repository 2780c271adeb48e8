import { randomUUID } from 'node:crypto';

import type { Admin } from 'kafkajs';
import { merge, toArray } from 'rxjs';

import { createKafkaAdmin } from '../../../src/adapters/kafka/admin.ts';
import { createClient, type KafkaOptions, patient } from '../../../src/adapters/kafka/client.ts';
import { groupDefaults } from '../../../src/adapters/kafka/life.ts';
import { Membership } from '../../../src/adapters/kafka/membership.ts';
import { createKafkaSink, type KafkaSink } from '../../../src/adapters/kafka/sink.ts';
import { createKafkaSource, type KafkaSource, type KafkaSourceOptions } from '../../../src/adapters/kafka/source.ts';
import { systemClock, systemRandom, systemTimers } from '../../../src/adapters/system/clock.ts';
import type { InRecord, OutRecord } from '../../../src/model/record.ts';
import type { SourceEvent } from '../../../src/ports/record-source.ts';
import type { TopicAdmin } from '../../../src/ports/topic-admin.ts';
import { only } from '../only.ts';
import { RememberingLogger } from '../remembering-logger.ts';
import { noMetrics } from '../silent.ts';
import { SourceReader } from '../source-reader.ts';

const world = { clock: systemClock, timers: systemTimers, random: systemRandom, metrics: noMetrics };

const testTuning = { sessionTimeoutMs: 6_000, heartbeatMs: 1_000, rebalanceTimeoutMs: 10_000, maxWaitMs: 100 };

/** The Kafka adapters of a test, on topics of its own. */
export class KafkaHarness {
  readonly client: KafkaOptions;
  readonly prefix = `t${randomUUID().slice(0, 8)}.`;
  readonly logger = new RememberingLogger();
  readonly sinkOptions: Parameters<typeof createKafkaSink>[0];
  readonly sink: KafkaSink;
  readonly admin: TopicAdmin;
  #names = 0;

  readonly #replicas: number;

  /** @param replicas of each topic */
  constructor(brokers: readonly string[], replicas = 1) {
    this.#replicas = replicas;
    this.client = { brokers, clientId: 'larkspur-test' };
    this.sinkOptions = { client: this.client, prefix: this.prefix, logger: this.logger, ...world };
    this.sink = createKafkaSink(this.sinkOptions);
    this.admin = createKafkaAdmin({ client: this.client, prefix: this.prefix, logger: this.logger, ...world });
  }

  /** A name that nothing else has. */
  unique(what: string): string {
    return `${what}-${this.#names++}-${randomUUID().slice(0, 8)}`;
  }

  async topic(partitions: number, maxBytes?: number): Promise<string> {
    const name = this.unique('topic');
    const settings = maxBytes === undefined ? {} : { 'max.message.bytes': String(maxBytes) };
    await this.admin.create([{ name, partitions, replicationFactor: this.#replicas, settings }]);
    return name;
  }

  async write(topic: string, records: readonly Partial<OutRecord>[]): Promise<void> {
    const empty = { topic, key: null, value: null, headers: [] };
    const acks = records.map((record) => this.sink.append({ ...empty, ...record }));
    await only(merge(...acks).pipe(toArray()));
  }

  /** A member with timings for tests: a dead one is noticed after 6 s. */
  member(group: string, topics: readonly string[], options: Partial<KafkaSourceOptions> = {}): KafkaSource {
    const { tuning, lives, ...rest } = options;
    return createKafkaSource({
      ...{ client: this.client, prefix: this.prefix, logger: this.logger, group, topics, ...world, ...rest },
      tuning: { ...testTuning, ...tuning },
      lives: { baseMs: 200, capMs: 1_000, ...lives },
    });
  }

  /** One life of a member, with an admin of the test's own. */
  membership(group: string, topics: readonly string[], admin: Admin, emit: (event: SourceEvent) => void): Membership {
    let epoch = 0;
    const nothing = () => undefined;
    return new Membership({
      ...{ kafka: createClient(this.client, this.logger, patient), admin, group, topics, prefix: this.prefix, emit },
      ...{ tuning: { ...groupDefaults, ...testTuning }, logger: this.logger, ...world },
      ...{ nextEpoch: () => (epoch += 1), onJoined: nothing, onRebalancing: nothing },
    });
  }

  source(group: string, topics: readonly string[], startsAs?: string): { source: KafkaSource; close(): Promise<void> } {
    const source = this.member(group, topics, { startsAs });
    return { source, close: () => source.close() };
  }

  async read(topic: string, count: number): Promise<InRecord[]> {
    const source = this.member(this.unique('reader'), [topic]);
    const reader = new SourceReader(source);
    await reader.until(() => reader.records.length >= count);
    reader.unsubscribe();
    await source.close();
    return reader.records;
  }

  async close(): Promise<void> {
    await Promise.all([this.sink.close(), this.admin.close()]);
  }
}
