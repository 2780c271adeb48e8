import { randomUUID } from 'node:crypto';

import kafkajs, { type Admin, type Consumer } from 'kafkajs';
import { Observable } from 'rxjs';

import { LarkspurError } from '../../model/errors.ts';
import type { InRecord } from '../../model/record.ts';
import type { Timers } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';

import { brief, createClient, type KafkaOptions } from './client.ts';
import { larkspurErrorOf } from './errors.ts';
import { inRecordOf } from './record.ts';

// Node's loader does not see the names of the driver's error classes.
const { KafkaJSError } = kafkajs;

const endTries = 20;
const endRetryMs = 200;

/** What reading the end of a topic needs. */
export interface KafkaTailOptions {
  readonly client: KafkaOptions;
  /** Stands before the logical topic name on the broker. */
  readonly prefix: string;
  readonly timers: Timers;
  readonly logger: Logger;
  /** So many of the newest records first, oldest of them first. */
  readonly last: number;
  /** Go on with what is appended, until unsubscribed; else complete. */
  readonly follow: boolean;
}

/**
 * Reads the end of a topic beside any group of ours: in a group of its own that commits nothing and is deleted after.
 * Memory: up to `last` records per partition. Errors with `topic_missing` or `kafka_unavailable`.
 */
export function kafkaTail(topic: string, options: KafkaTailOptions): Observable<InRecord> {
  return new Observable<InRecord>((subscriber) => {
    const tail = new Tail(topic, options, (record) => subscriber.next(record));
    tail.run().then(
      () => subscriber.complete(),
      (error: unknown) => subscriber.error(larkspurErrorOf(error, `tail ${topic}`)),
    );
    return () => tail.stop();
  });
}

class Tail {
  readonly #topic: string;
  readonly #fullName: string;
  readonly #options: KafkaTailOptions;
  readonly #emit: (record: InRecord) => void;
  readonly #groupId = `larkspur-tail-${randomUUID()}`;
  readonly #admin: Admin;
  readonly #consumer: Consumer;
  /** Partitions whose end at the start is not yet reached, with that end. */
  readonly #open = new Map<number, number>();
  #kept: InRecord[] | undefined = [];
  #finish = (): void => undefined;
  readonly #finished = new Promise<void>((resolve) => {
    this.#finish = resolve;
  });

  constructor(topic: string, options: KafkaTailOptions, emit: (record: InRecord) => void) {
    this.#topic = topic;
    this.#fullName = options.prefix + topic;
    this.#options = options;
    this.#emit = emit;
    const client = createClient(options.client, options.logger, brief);
    this.#admin = client.admin();
    this.#consumer = client.consumer({
      groupId: this.#groupId,
      allowAutoTopicCreation: false,
      maxWaitTimeInMs: 250,
      retry: { ...brief.retry, restartOnFailure: () => Promise.resolve(false) },
    });
  }

  /** Ends when there is nothing more to read, or after {@link stop}. */
  async run(): Promise<void> {
    try {
      await this.#admin.connect();
      const starts = await this.#starts();
      if (this.#open.size === 0) this.#reachedEnd();
      if (this.#open.size > 0 || this.#options.follow) await this.#read(starts);
    } finally {
      await this.#consumer.disconnect().catch(() => undefined);
      await this.#admin.deleteGroups([this.#groupId]).catch(() => undefined);
      await this.#admin.disconnect().catch(() => undefined);
    }
  }

  stop(): void {
    this.#finish();
  }

  async #starts(): Promise<{ partition: number; offset: number }[]> {
    if (!(await this.#admin.listTopics()).includes(this.#fullName)) {
      throw new LarkspurError('topic_missing', `there is no topic ${this.#fullName}`, {
        cure: 'check the name; `larkspur topics plan` shows what is missing',
      });
    }
    const ends = await this.#ends();
    return ends.map(({ partition, low, high }) => {
      const offset = Math.max(Number(low), Number(high) - this.#options.last);
      if (offset < Number(high)) this.#open.set(partition, Number(high));
      return { partition, offset };
    });
  }

  /** While a leader moves, or a topic is brand new, the driver passes the refusal on instead of asking again. */
  async #ends(): Promise<Awaited<ReturnType<Admin['fetchTopicOffsets']>>> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#admin.fetchTopicOffsets(this.#fullName);
      } catch (error) {
        const passing = error instanceof KafkaJSError && error.retriable;
        if (!passing || tries === endTries) throw error;
        await this.#admin.fetchTopicMetadata({ topics: [this.#fullName] });
        await new Promise<void>((resolve) => void this.#options.timers.after(endRetryMs, resolve));
      }
    }
  }

  async #read(starts: readonly { partition: number; offset: number }[]): Promise<void> {
    const crashed = new Promise<never>((_, reject) => {
      this.#consumer.on('consumer.crash', ({ payload }) => reject(payload.error));
    });
    await this.#consumer.connect();
    await this.#consumer.subscribe({ topics: [this.#fullName], fromBeginning: false });
    await this.#consumer.run({
      autoCommit: false,
      eachBatch: ({ batch }) => {
        for (const message of batch.messages) {
          const record = inRecordOf(this.#topic, batch.partition, Number(message.offset), message);
          if (this.#kept === undefined) this.#emit(record);
          else this.#kept.push(record);
        }
        // A batch may end in offsets without records, so its own end counts, not that of its last record.
        const end = this.#open.get(batch.partition);
        if (end !== undefined && Number(batch.lastOffset()) + 1 >= end) this.#open.delete(batch.partition);
        if (this.#open.size === 0) this.#reachedEnd();
        return Promise.resolve();
      },
    });
    for (const { partition, offset } of starts) {
      this.#consumer.seek({ topic: this.#fullName, partition, offset: String(offset) });
    }
    await Promise.race([this.#finished, crashed]);
  }

  /** What was there at the start is read: the newest of it go out in order of time. */
  #reachedEnd(): void {
    if (this.#kept === undefined) return;
    const kept = this.#kept.sort((a, b) => a.timestampMs - b.timestampMs || a.offset - b.offset);
    this.#kept = undefined;
    for (const record of this.#options.last === 0 ? [] : kept.slice(-this.#options.last)) this.#emit(record);
    if (!this.#options.follow) this.#finish();
  }
}
