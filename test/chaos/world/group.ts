import type { Admin, Kafka } from 'kafkajs';

import { decodeDone } from '../../../src/pipeline/commit-metadata.ts';

/** What a commit of one partition says is done. */
export interface Position {
  /** All before it. */
  readonly offset: number;
  /** Single offsets above it, from the commit's metadata. */
  readonly doneAbove: readonly number[];
}

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

  /** Commits per partition. */
  async positions(): Promise<Position[]> {
    const [topic] = await this.#admin.fetchOffsets({ groupId: this.#group, topics: [this.#topic] });
    const positions: Position[] = [];
    for (const { partition, offset, metadata } of topic?.partitions ?? []) {
      const committed = Math.max(0, Number(offset));
      positions[partition] = { offset: committed, doneAbove: [...decodeDone(committed, metadata ?? '')] };
    }
    return positions;
  }

  /** Committed offset per partition, 0 for none. */
  async committed(): Promise<number[]> {
    return (await this.positions()).map(({ offset }) => offset);
  }

  /** Records per partition that commits count as done. */
  async done(): Promise<number[]> {
    return (await this.positions()).map(({ offset, doneAbove }) => offset + doneAbove.length);
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
