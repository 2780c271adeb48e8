import type { Admin, Kafka } from 'kafkajs';

/** Where the workers' group stands in `calls`. */
export class Group {
  readonly #admin: Admin;
  readonly #group: string;
  readonly #topic: string;

  constructor(kafka: Kafka, group: string, topic: string) {
    this.#admin = kafka.admin({ retry: { retries: 10, maxRetryTime: 2_000 } });
    this.#group = group;
    this.#topic = topic;
  }

  async open(): Promise<void> {
    await this.#admin.connect();
  }

  async close(): Promise<void> {
    await this.#admin.disconnect();
  }

  /** Committed offset per partition, 0 for none. */
  async committed(): Promise<number[]> {
    const [topic] = await this.#admin.fetchOffsets({ groupId: this.#group, topics: [this.#topic] });
    const offsets: number[] = [];
    for (const { partition, offset } of topic?.partitions ?? []) offsets[partition] = Math.max(0, Number(offset));
    return offsets;
  }

  /** Records that no commit covers, per partition. */
  async lag(): Promise<number[]> {
    const [committed, ends] = await Promise.all([this.committed(), this.#admin.fetchTopicOffsets(this.#topic)]);
    const lag: number[] = [];
    for (const { partition, high } of ends) lag[partition] = Number(high) - (committed[partition] ?? 0);
    return lag;
  }
}

export const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);
