import kafkajs, { type Admin, type ITopicMetadata } from 'kafkajs';

import { LarkspurError } from '../../model/errors.ts';
import type { Timers } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';
import type { ClusterView, TopicAdmin, TopicShape } from '../../ports/topic-admin.ts';

import { brief, createClient, type KafkaOptions } from './client.ts';
import { larkspurErrorOf } from './errors.ts';

// The driver is CommonJS; Node finds this member only on its default export.
const { ConfigResourceTypes } = kafkajs;

/** What the administrator of topics needs. */
export interface KafkaAdminOptions {
  readonly client: KafkaOptions;
  /** Stands before the logical topic names on the broker. */
  readonly prefix: string;
  readonly timers: Timers;
  readonly logger: Logger;
}

/** {@link TopicAdmin} on Kafka. Connects at the first question. Throws `config_invalid` for unusable addresses. */
export function createKafkaAdmin(options: KafkaAdminOptions): TopicAdmin {
  return new KafkaTopicAdmin(options);
}

// How often, and how many times, the outcome of a change is looked for.
const pollMs = 100;
const polls = 300;
/** `source` of a setting that was made for the topic itself. */
const ownSetting = 1;

class KafkaTopicAdmin implements TopicAdmin {
  readonly #options: KafkaAdminOptions;
  readonly #admin: Admin;
  #connected: Promise<void> | undefined;

  constructor(options: KafkaAdminOptions) {
    this.#options = options;
    this.#admin = createClient(options.client, options.logger, brief).admin();
  }

  cluster(): Promise<ClusterView> {
    return this.#ask('describe the cluster', async (admin) => {
      const { clusterId, brokers } = await admin.describeCluster();
      return { clusterId, brokers: brokers.length };
    });
  }

  describe(names: readonly string[]): Promise<readonly TopicShape[]> {
    return this.#ask(`describe ${names.join(', ')}`, async (admin) => {
      const there = await this.#existing(admin, names);
      if (there.length === 0) return [];
      const [metadata, settings] = await Promise.all([
        admin.fetchTopicMetadata({ topics: there }),
        this.#settingsOf(admin, there),
      ]);
      return metadata.topics.map((topic) => ({
        name: topic.name.slice(this.#options.prefix.length),
        partitions: topic.partitions.length,
        replicationFactor: topic.partitions[0]?.replicas.length ?? 0,
        settings: Object.fromEntries((settings.get(topic.name) ?? []).map(({ name, value }) => [name, value])),
      }));
    });
  }

  create(topics: readonly TopicShape[]): Promise<void> {
    const names = topics.map(({ name }) => this.#fullName(name));
    return this.#ask(`create ${names.join(', ')}`, async (admin) => {
      if (topics.length === 0) return;
      await admin.createTopics({
        // With `true` it may be refused although the topics exist.
        waitForLeaders: false,
        topics: topics.map(({ name, partitions, replicationFactor, settings }) => ({
          topic: this.#fullName(name),
          numPartitions: partitions,
          replicationFactor,
          configEntries: Object.entries(settings).map(([name, value]) => ({ name, value })),
        })),
      });
      await this.#untilLed(admin, names);
    });
  }

  addPartitions(name: string, partitions: number): Promise<void> {
    const topic = this.#fullName(name);
    return this.#ask(`add partitions to ${topic}`, async (admin) => {
      await admin.createPartitions({ topicPartitions: [{ topic, count: partitions }] });
      await this.#untilLed(admin, [topic], partitions);
    });
  }

  setSettings(name: string, settings: Readonly<Record<string, string>>): Promise<void> {
    const topic = this.#fullName(name);
    return this.#ask(`change settings of ${topic}`, async (admin) => {
      // The request replaces the whole set: what is not named would fall back to the broker's default.
      const before = (await this.#settingsOf(admin, [topic])).get(topic) ?? [];
      const own = before.filter(({ source }) => source === ownSetting).map(({ name, value }) => [name, value] as const);
      const merged = Object.entries({ ...Object.fromEntries(own), ...settings });
      const configEntries = merged.map(([name, value]) => ({ name, value }));
      const resource = { type: ConfigResourceTypes.TOPIC, name: topic, configEntries };
      await admin.alterConfigs({ validateOnly: false, resources: [resource] });
      await this.#until(`settings of ${topic} did not change`, async () => {
        // The controller has taken them; the broker that is asked learns of it a little later.
        const now = (await this.#settingsOf(admin, [topic])).get(topic) ?? [];
        return merged.every(([name, value]) => now.some((one) => one.name === name && one.value === value));
      });
    });
  }

  lag(group: string, names: readonly string[]): Promise<readonly { topic: string; partition: number; lag: number }[]> {
    return this.#ask(`read the lag of ${group}`, async (admin) => {
      const topics = names.map((name) => this.#fullName(name));
      const [committed, ...logs] = await Promise.all([
        admin.fetchOffsets({ groupId: group, topics }),
        ...topics.map((topic) => admin.fetchTopicOffsets(topic)),
      ]);
      return names.flatMap((name, index) => {
        const stored = committed.find(({ topic }) => topic === topics[index])?.partitions ?? [];
        return (logs[index] ?? []).map(({ partition, low, high }) => {
          // -1: never committed, -2: after an offset out of range; both mean "from the start of the log".
          const offset = Number(stored.find((one) => one.partition === partition)?.offset ?? -1);
          return { topic: name, partition, lag: Math.max(0, Number(high) - Math.max(offset, Number(low))) };
        });
      });
    });
  }

  groups(): Promise<readonly string[]> {
    return this.#ask('list the groups', async (admin) =>
      (await admin.listGroups()).groups.map(({ groupId }) => groupId),
    );
  }

  async close(): Promise<void> {
    if (this.#connected === undefined) return;
    await this.#connected.catch(() => undefined);
    await this.#admin.disconnect().catch(() => undefined);
  }

  async #ask<T>(doing: string, question: (admin: Admin) => Promise<T>): Promise<T> {
    try {
      this.#connected ??= this.#admin.connect();
      await this.#connected;
      return await question(this.#admin);
    } catch (error) {
      // A connection that failed is tried anew with the next question.
      const connected = this.#connected;
      void connected?.catch(() => (this.#connected = undefined));
      throw larkspurErrorOf(error, doing);
    }
  }

  async #existing(admin: Admin, names: readonly string[]): Promise<string[]> {
    const there = new Set(await admin.listTopics());
    return names.map((name) => this.#fullName(name)).filter((topic) => there.has(topic));
  }

  async #settingsOf(admin: Admin, topics: readonly string[]): Promise<Map<string, Setting[]>> {
    const asked = topics.map((name) => ({ type: ConfigResourceTypes.TOPIC, name }));
    const { resources } = await admin.describeConfigs({ resources: asked, includeSynonyms: false });
    return new Map(
      resources.map(({ resourceName, configEntries }) => [
        resourceName,
        configEntries.map(({ configName, configValue, configSource }) => ({
          name: configName,
          value: configValue,
          source: configSource,
        })),
      ]),
    );
  }

  #untilLed(admin: Admin, topics: string[], partitions = 1): Promise<void> {
    const led = ({ partitions: found }: ITopicMetadata) =>
      found.length >= partitions && found.every(({ leader }) => leader >= 0);
    return this.#until(`partitions of ${topics.join(', ')} did not get a leader`, async () => {
      const metadata = await admin.fetchTopicMetadata({ topics }).catch(() => undefined);
      return metadata?.topics.length === topics.length && metadata.topics.every(led);
    });
  }

  async #until(complaint: string, done: () => Promise<boolean>): Promise<void> {
    for (let poll = 0; poll < polls; poll++) {
      if (await done()) return;
      await new Promise<void>((resolve) => void this.#options.timers.after(pollMs, resolve));
    }
    throw new LarkspurError('timed_out', complaint, {
      cure: 'look at the brokers: the request itself was taken',
      retryable: true,
    });
  }

  #fullName(name: string): string {
    return this.#options.prefix + name;
  }
}

interface Setting {
  readonly name: string;
  readonly value: string;
  readonly source: number;
}
