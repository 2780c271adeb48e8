import { randomUUID } from 'node:crypto';

import kafkajs, { type Admin, type Consumer } from 'kafkajs';

import { LarkspurError } from '../../model/errors.ts';
import type { InRecord } from '../../model/record.ts';
import type { Timers } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';
import type { Bounds } from '../../ports/topic-reader.ts';

import { brief, createClient, type KafkaOptions } from './client.ts';
import { inRecordOf } from './record.ts';
import { unreadableIn } from './unreadable.ts';

// Node's loader does not see the names of the driver's error classes.
const { KafkaJSError } = kafkajs;

const endTries = 20;
const endRetryMs = 200;
const goneLookMs = 1_000;

/** What reading a topic beside all groups needs. */
export interface ScanOptions {
  readonly client: KafkaOptions;
  /** Stands before the logical topic name on the broker. */
  readonly prefix: string;
  readonly timers: Timers;
  readonly logger: Logger;
}

/** What a scan asks and tells. */
export interface ScanListener {
  /** Which offsets of a partition are wanted, in [begin, end]; `undefined`: none of it. */
  wants(bounds: Bounds): { readonly from: number; readonly to: number } | undefined;
  record(record: InRecord): void;
  /** All that was wanted has been read. `true`: the scan goes on with what is appended, until it is stopped. */
  reachedEnd(): boolean;
}

/** Reads a topic once, in a group of its own that commits nothing and is deleted after. */
export class TopicScan {
  readonly #topic: string;
  readonly #fullName: string;
  readonly #options: ScanOptions;
  readonly #listener: ScanListener;
  readonly #groupId = `larkspur-scan-${randomUUID()}`;
  readonly #admin: Admin;
  readonly #consumer: Consumer;
  /** Partitions that are wanted and whose end is not yet reached, with that end. */
  readonly #open = new Map<number, number>();
  /** Partitions of which all that was wanted is read, and where they would go on. Until all others are, they pause. */
  readonly #left = new Map<number, number>();
  #following = false;
  #stopped = false;
  #cancelLook = (): void => undefined;
  #finish = (): void => undefined;
  readonly #finished = new Promise<void>((resolve) => {
    this.#finish = resolve;
  });

  constructor(topic: string, options: ScanOptions, listener: ScanListener) {
    this.#topic = topic;
    this.#fullName = options.prefix + topic;
    this.#options = options;
    this.#listener = listener;
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
      const bounds = await boundsOf(this.#admin, this.#fullName, this.#options.timers);
      const starts = bounds.map((one) => {
        const wanted = this.#listener.wants(one);
        if (wanted === undefined) return { partition: one.partition, offset: one.end };
        if (wanted.from < wanted.to) this.#open.set(one.partition, wanted.to);
        else this.#left.set(one.partition, wanted.from);
        return { partition: one.partition, offset: wanted.from };
      });
      if (this.#open.size === 0) this.#reachedEnd();
      if (this.#open.size > 0 || this.#following) await this.#read(starts);
    } finally {
      this.#stopped = true;
      this.#cancelLook();
      await this.#consumer.disconnect().catch(() => undefined);
      await this.#admin.deleteGroups([this.#groupId]).catch(() => undefined);
      await this.#admin.disconnect().catch(() => undefined);
    }
  }

  stop(): void {
    this.#stopped = true;
    this.#finish();
  }

  async #read(starts: readonly { partition: number; offset: number }[]): Promise<void> {
    let fail = (_: Error): void => undefined;
    const failed = new Promise<never>((_, reject) => {
      fail = reject;
    });
    this.#consumer.on('consumer.crash', ({ payload }) => fail(payload.error));
    await this.#consumer.connect();
    // What retention takes meanwhile is gone, what follows it is not: with `false` the driver would jump past the end.
    await this.#consumer.subscribe({ topics: [this.#fullName], fromBeginning: true });
    const running = this.#consumer.run({
      autoCommit: false,
      eachBatch: (payload) => {
        const { batch } = payload;
        const end = this.#following ? Infinity : this.#open.get(batch.partition);
        // Fetched before its partition paused or was sent elsewhere: it comes again if it is wanted.
        if (end === undefined || payload.isStale()) return Promise.resolve();
        for (const message of batch.messages) {
          if (this.#stopped) return Promise.resolve();
          const broken = unreadableIn(message);
          const offset = broken?.from ?? Number(message.offset);
          if (offset >= end) break;
          // What cannot be read must not look like the end: who asks would take it for all there is.
          if (broken !== undefined) {
            const message = `${this.#fullName}/${batch.partition} cannot be read to its end: ${broken.why}`;
            fail(new LarkspurError('kafka_consumer_failed', message));
            return Promise.resolve();
          }
          this.#listener.record(inRecordOf(this.#topic, batch.partition, offset, message));
        }
        // A batch may end in offsets without records, so its own end counts, not that of its last record.
        if (Number(batch.lastOffset()) + 1 >= end) this.#leave(batch.partition, end);
        return Promise.resolve();
      },
    });
    // Of a member that may not join the driver says that it runs; what it died of must not find nobody waiting.
    await Promise.race([running, failed]);
    for (const { partition, offset } of starts) {
      this.#seek(partition, offset);
      const reads = this.#open.has(partition) || (this.#following && this.#left.has(partition));
      if (!reads) this.#consumer.pause([{ topic: this.#fullName, partitions: [partition] }]);
    }
    this.#lookForGone();
    await Promise.race([this.#finished, failed]);
  }

  /** Of a partition nothing comes when retention takes all that is wanted of it: looks each second whether that is so. */
  #lookForGone(): void {
    if (this.#stopped || this.#open.size === 0) return;
    this.#cancelLook = this.#options.timers.after(goneLookMs, () => {
      this.#leaveGone()
        // Whether the broker is away is for the consumer to find out.
        .catch(() => undefined)
        .finally(() => this.#lookForGone());
    });
  }

  async #leaveGone(): Promise<void> {
    for (const { partition, low } of await this.#admin.fetchTopicOffsets(this.#fullName)) {
      const end = this.#open.get(partition);
      if (!this.#stopped && end !== undefined && Number(low) >= end) this.#leave(partition, end);
    }
  }

  #leave(partition: number, end: number): void {
    this.#open.delete(partition);
    this.#left.set(partition, end);
    this.#consumer.pause([{ topic: this.#fullName, partitions: [partition] }]);
    if (this.#open.size > 0) return;
    this.#reachedEnd();
    if (!this.#following) return;
    for (const [left, offset] of this.#left) this.#seek(left, offset);
    this.#consumer.resume([{ topic: this.#fullName, partitions: [...this.#left.keys()] }]);
  }

  #seek(partition: number, offset: number): void {
    this.#consumer.seek({ topic: this.#fullName, partition, offset: String(offset) });
  }

  #reachedEnd(): void {
    this.#following = this.#listener.reachedEnd();
    if (!this.#following) this.stop();
  }
}

/** Begin and end of each partition. Rejects with `topic_missing`. */
export async function boundsOf(admin: Admin, fullName: string, timers: Timers): Promise<Bounds[]> {
  if (!(await admin.listTopics()).includes(fullName)) {
    throw new LarkspurError('topic_missing', `there is no topic ${fullName}`, {
      cure: 'check the name; `larkspur topics plan` shows what is missing',
    });
  }
  // While a leader moves, or a topic is brand new, the driver passes the refusal on instead of asking again.
  for (let tries = 1; ; tries++) {
    try {
      const offsets = await admin.fetchTopicOffsets(fullName);
      return offsets.map(({ partition, low, high }) => ({ partition, begin: Number(low), end: Number(high) }));
    } catch (error) {
      const passing = error instanceof KafkaJSError && error.retriable;
      if (!passing || tries === endTries) throw error;
      await admin.fetchTopicMetadata({ topics: [fullName] });
      await new Promise<void>((resolve) => void timers.after(endRetryMs, resolve));
    }
  }
}
