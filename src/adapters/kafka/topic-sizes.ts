import kafkajs, { type Admin, type Kafka } from 'kafkajs';

import type { Clock } from '../../ports/clock.ts';

// The driver is CommonJS; Node finds this member only on its default export.
const { ConfigResourceTypes } = kafkajs;

// New partitions of a topic are noticed after so long.
const maxAgeMs = 60_000;
/** Kafka's own default of `max.message.bytes`. */
const usualLimitBytes = 1_048_588;

interface Known {
  readonly partitions: number;
  readonly readAtMs: number;
  asking: boolean;
}

/** How many partitions topics have, remembered for a minute; and what a record of theirs may weigh. */
export class TopicSizes {
  readonly #kafka: Kafka;
  readonly #clock: Clock;
  readonly #known = new Map<string, Known>();
  readonly #limits = new Map<string, number>();

  constructor(kafka: Kafka, clock: Clock) {
    this.#kafka = kafka;
    this.#clock = clock;
  }

  /** What is known now; an old number is still given, while a new one is asked for. */
  partitions(topic: string): number | undefined {
    const known = this.#known.get(topic);
    if (known === undefined) return undefined;
    if (!known.asking && this.#clock.now() - known.readAtMs > maxAgeMs) {
      known.asking = true;
      this.read(topic).catch(() => (known.asking = false));
    }
    return known.partitions;
  }

  /** Asks the broker. Rejects with the driver's error, also when the topic is not there. */
  async read(topic: string): Promise<number> {
    const { topics } = await this.#ask((admin) => admin.fetchTopicMetadata({ topics: [topic] }));
    const partitions = topics[0]?.partitions.length ?? 0;
    if (partitions === 0) throw new Error(`${topic} has no partitions yet`);
    this.#known.set(topic, { partitions, readAtMs: this.#clock.now(), asking: false });
    return partitions;
  }

  /** The topic's `max.message.bytes`; Kafka's default when it may not be read. */
  async limitBytes(topic: string): Promise<number> {
    const known = this.#limits.get(topic);
    if (known !== undefined) return known;
    try {
      const resource = { type: ConfigResourceTypes.TOPIC, name: topic, configNames: ['max.message.bytes'] };
      const { resources } = await this.#ask((admin) =>
        admin.describeConfigs({ resources: [resource], includeSynonyms: false }),
      );
      const limit = Number(resources[0]?.configEntries[0]?.configValue ?? usualLimitBytes);
      this.#limits.set(topic, limit);
      return limit;
    } catch {
      return usualLimitBytes;
    }
  }

  // A client of its own for each question: one that was asked for a missing topic fails for all others from then on.
  async #ask<T>(question: (admin: Admin) => Promise<T>): Promise<T> {
    const admin = this.#kafka.admin();
    try {
      await admin.connect();
      return await question(admin);
    } finally {
      await admin.disconnect().catch(() => undefined);
    }
  }
}
