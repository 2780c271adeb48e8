import type { Kafka, Producer } from 'kafkajs';

import type { OutRecord } from '../../model/record.ts';

import { messagesOf } from './record.ts';

// Short: around it stands a loop that tries for ever, with a new producer each time.
const producerRetry = { initialRetryTime: 100, maxRetryTime: 1_000, factor: 0.2, multiplier: 2, retries: 5 };
const acknowledgeLimitMs = 15_000;

interface Connected {
  readonly producer: Producer;
  readonly connected: Promise<void>;
}

/** Where the first of some records stands. */
export interface Stored {
  readonly offset: number;
  /** The broker's date, epoch milliseconds; absent for a topic whose records keep the producer's. */
  readonly storedAtMs?: number;
}

/**
 * A producer for each class of destinations. A topic that was deleted while in use spoils every send of its producer, so
 * destinations do not share one, and a producer is replaced after each failed send.
 */
export class Producers {
  readonly #kafka: Kafka;
  readonly #producers = new Map<string, Connected>();
  readonly #leaving = new Set<Promise<void>>();

  constructor(kafka: Kafka) {
    this.#kafka = kafka;
  }

  /** Writes records to one partition of one topic, acknowledged by all replicas; resolves with where and when. */
  async send(destination: string, topic: string, partition: number, records: readonly OutRecord[]): Promise<Stored> {
    const used = this.#of(destination);
    try {
      await used.connected;
      const messages = messagesOf(partition, records);
      const [reply] = await used.producer.send({ topic, messages, acks: -1, timeout: acknowledgeLimitMs });
      if (reply?.baseOffset === undefined) throw new Error('the broker acknowledged without an offset');
      return storedAs(reply.baseOffset, Number(reply.logAppendTime ?? -1));
    } catch (error) {
      // Another lane may have replaced it already.
      if (this.#producers.get(destination) === used) this.#producers.delete(destination);
      this.#leave(used.producer);
      throw error;
    }
  }

  /** Disconnects all. */
  async close(): Promise<void> {
    for (const { producer } of this.#producers.values()) this.#leave(producer);
    this.#producers.clear();
    await Promise.all(this.#leaving);
  }

  #of(destination: string): Connected {
    const known = this.#producers.get(destination);
    if (known !== undefined) return known;
    const producer = this.#kafka.producer({
      allowAutoTopicCreation: false,
      idempotent: false,
      metadataMaxAge: 60_000,
      retry: producerRetry,
      createPartitioner:
        () =>
        ({ message }) =>
          message.partition ?? 0,
    });
    const created = { producer, connected: producer.connect() };
    this.#producers.set(destination, created);
    return created;
  }

  #leave(producer: Producer): void {
    const left = producer.disconnect().catch(() => undefined);
    this.#leaving.add(left);
    void left.finally(() => this.#leaving.delete(left));
  }
}

function storedAs(baseOffset: string, appendTimeMs: number): Stored {
  const offset = Number(baseOffset);
  return appendTimeMs < 0 ? { offset } : { offset, storedAtMs: appendTimeMs };
}
