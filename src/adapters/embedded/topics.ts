import { LarkspurError } from '../../model/errors.ts';
import type { Clock, Timers } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';

import { PartitionLog } from './partition-log.ts';
import { jsonCodec, type Store, type Table } from './store.ts';

/** A topic as it is declared. */
export interface EmbeddedTopic {
  readonly name: string;
  /** Default 12. May grow later, never shrink. */
  readonly partitions?: number;
  /** Records older than this are dropped once no reader of this process needs them. Default: kept for ever. */
  readonly retentionMs?: number;
  /** The oldest records of a partition are dropped while it holds more. Default: no limit. */
  readonly retentionBytes?: number;
  /** Largest record, in bytes of the log. Default 1 MiB, as in Kafka. */
  readonly maxMessageBytes?: number;
}

/** A topic that is open: its partitions and limits. */
export interface OpenTopic {
  readonly name: string;
  readonly partitions: readonly PartitionLog[];
  readonly maxMessageBytes: number;
}

const defaultPartitions = 12;
const defaultMaxMessageBytes = 1_048_588;
const purgeEveryMs = 10_000;
const purgeSoonMs = 10;
const purgeSlice = 500;

/** All topics of the data folder that were declared, and what keeps them from growing for ever. */
export class Topics {
  readonly #topics = new Map<string, OpenTopic>();
  readonly #declared: EmbeddedTopic[] = [];
  readonly #store: Store;
  readonly #logger: Logger;
  // Where offsets go on when a log was emptied, and how many partitions a topic has ever had.
  readonly #ends: Table<number>;
  readonly #counts: Table<number>;
  readonly #clock: Clock;
  readonly #timers: Timers;
  // Lowest offset that a reader of this process still needs, by `topic/partition`.
  readonly #needed = new Map<string, Map<object, number>>();
  #cancelPurge: () => void = () => undefined;
  #closed = false;

  constructor(store: Store, declared: readonly EmbeddedTopic[], clock: Clock, timers: Timers, logger: Logger) {
    this.#store = store;
    this.#logger = logger;
    this.#clock = clock;
    this.#timers = timers;
    this.#ends = store.table('ends', jsonCodec<number>());
    this.#counts = store.table('partitions', jsonCodec<number>());
    for (const topic of declared) this.declare(topic);
    this.#armPurge();
  }

  /** Opens one more topic, made when it is not there; one that is open stays as it is. */
  declare(topic: EmbeddedTopic): void {
    if (this.#topics.has(topic.name)) return;
    this.#declared.push(topic);
    this.#topics.set(topic.name, this.#open(topic));
  }

  /** Throws `topic_missing` for a name that was not declared. */
  get(name: string): OpenTopic {
    const topic = this.#topics.get(name);
    if (topic !== undefined) return topic;
    throw new LarkspurError('topic_missing', `topic ${name} is not declared`, {
      cure: `declare it, or use one of ${[...this.#topics.keys()].join(', ')}`,
    });
  }

  /** Says that `reader` has yet to finish everything from `offset` on; `undefined`: it needs nothing any more. */
  need(reader: object, topic: string, partition: number, offset: number | undefined): void {
    const key = `${topic}/${partition}`;
    let readers = this.#needed.get(key);
    if (readers === undefined) {
      readers = new Map();
      this.#needed.set(key, readers);
    }
    if (offset === undefined) readers.delete(reader);
    else readers.set(reader, offset);
  }

  /** Drops what retention allows, a slice at a time; returns whether something is left to drop. */
  purge(): boolean {
    let more = false;
    for (const { name, retentionMs = Infinity, retentionBytes = Infinity } of this.#declared) {
      if (retentionMs === Infinity && retentionBytes === Infinity) continue;
      for (const [partition, log] of this.get(name).partitions.entries()) {
        const keepFrom = Math.min(Infinity, ...(this.#needed.get(`${name}/${partition}`)?.values() ?? []));
        const olderThanMs = this.#clock.wall() - retentionMs;
        more = log.purge({ olderThanMs, maxBytes: retentionBytes, keepFrom }, purgeSlice) === purgeSlice || more;
      }
    }
    return more;
  }

  /** Stops the purging. */
  close(): void {
    this.#closed = true;
    this.#cancelPurge();
  }

  #armPurge(afterMs = purgeEveryMs): void {
    if (this.#closed) return;
    this.#cancelPurge = this.#timers.after(afterMs, () => {
      const more = this.purge();
      // What was dropped is seen until it is committed: on a full disk it would be dropped again and again.
      this.#store.whenDurable(() => this.#armPurge(more ? purgeSoonMs : purgeEveryMs));
    });
  }

  #open({ name, partitions = defaultPartitions, maxMessageBytes = defaultMaxMessageBytes }: EmbeddedTopic): OpenTopic {
    const before = this.#counts.get(name) ?? 0;
    if (before > partitions) {
      const fields = { topic: name, declared: partitions, kept: before };
      this.#logger.warn(fields, 'a topic cannot lose partitions: the old count stays');
    }
    const count = Math.max(before, partitions);
    if (count !== before) this.#counts.put(name, count);
    const logs = Array.from({ length: count }, (_, at) => new PartitionLog(this.#store, this.#ends, name, at));
    return { name, partitions: logs, maxMessageBytes };
  }
}
