import type { Consumer, EachBatchPayload, Kafka, PartitionAssigner, TopicPartitionOffsetAndMetadata } from 'kafkajs';

import type { Clock, Timers } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';

import { patient } from './client.ts';
import { SilentBrokers } from './silent-brokers.ts';
import { within } from './within.ts';

/** How the group protocol and fetches are set. */
export interface GroupTuning {
  /** A member that is silent for so long is dead to the group. */
  readonly sessionTimeoutMs: number;
  readonly heartbeatMs: number;
  /** How long the group waits for its members at a join. */
  readonly rebalanceTimeoutMs: number;
  /** Longest wait of a fetch; bounds resume, seek and stop, adds no latency. */
  readonly maxWaitMs: number;
  readonly maxBytesPerPartition: number;
  readonly maxBytes: number;
  /** How soon new partitions are noticed. */
  readonly metadataMaxAgeMs: number;
  /** Without a fetch, heartbeat or join for so long a life is ended from outside. */
  readonly watchdogMs: number;
  /** A broker that owes an answer to a fetch for so long is told of; its partitions stand still meanwhile. */
  readonly silentBrokerMs: number;
  /** How long a consumer may take to say good-bye. */
  readonly leaveLimitMs: number;
}

/** Measured on a real broker: less memory and more throughput than kafkajs's own defaults. */
export const groupDefaults: GroupTuning = {
  sessionTimeoutMs: 30_000,
  heartbeatMs: 3_000,
  rebalanceTimeoutMs: 30_000,
  maxWaitMs: 250,
  maxBytesPerPartition: 64 * 1024,
  maxBytes: 2 * 1024 * 1024,
  metadataMaxAgeMs: 60_000,
  watchdogMs: 45_000,
  silentBrokerMs: 15_000,
  leaveLimitMs: 10_000,
};

/**
 * The tuning for another session timeout: a join and the watchdog wait in proportion, so that a member is given up by
 * itself when the group has given it up, and not while it joins. Six heartbeats or more fit into a session.
 */
export function tuningFor(sessionTimeoutMs: number): Partial<GroupTuning> {
  const share = sessionTimeoutMs / groupDefaults.sessionTimeoutMs;
  return {
    sessionTimeoutMs,
    heartbeatMs: Math.min(groupDefaults.heartbeatMs, Math.floor(sessionTimeoutMs / 6)),
    rebalanceTimeoutMs: groupDefaults.rebalanceTimeoutMs * share,
    watchdogMs: groupDefaults.watchdogMs * share,
  };
}

/** What a life tells. None of these may throw. */
export interface LifeListener {
  joined(memberId: string, assignment: Readonly<Record<string, readonly number[]>>): void;
  rebalancing(): void;
  batch(payload: EachBatchPayload): Promise<void>;
}

/** What a life is made of. */
export interface LifeParts {
  readonly kafka: Kafka;
  readonly group: string;
  /** Full topic names. */
  readonly topics: readonly string[];
  readonly tuning: GroupTuning;
  readonly assigner: PartitionAssigner;
  readonly listener: LifeListener;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
}

// Handlers end in the turn they start in, so workers cost nothing; there must be one for each partition of a fetch.
const workers = 128;

/**
 * One consumer object from its first connection to its end. It is never used again: a consumer that was disconnected
 * while it joined may come back as a zombie, so each of its callbacks asks whether this life still is the current one.
 */
export class Life {
  /** Resolves with what ended it; `undefined` when it was asked to end. Never rejects. */
  readonly ended: Promise<unknown>;
  readonly #parts: LifeParts;
  readonly #consumer: Consumer;
  #settle: (reason: unknown) => void = () => undefined;
  #over = false;
  #lastSignalMs: number;
  #lastFetchMs: number | undefined;
  #stopWatching: () => void = () => undefined;
  readonly #silent: SilentBrokers;
  /** What ends the wait of commits on their way. */
  readonly #committing = new Set<() => void>();

  constructor(parts: LifeParts) {
    this.#parts = parts;
    this.#lastSignalMs = parts.clock.now();
    this.ended = new Promise((resolve) => (this.#settle = resolve));
    const { tuning } = parts;
    this.#silent = new SilentBrokers(tuning.silentBrokerMs);
    this.#consumer = parts.kafka.consumer({
      groupId: parts.group,
      partitionAssigners: [parts.assigner],
      sessionTimeout: tuning.sessionTimeoutMs,
      heartbeatInterval: tuning.heartbeatMs,
      rebalanceTimeout: tuning.rebalanceTimeoutMs,
      maxWaitTimeInMs: tuning.maxWaitMs,
      maxBytesPerPartition: tuning.maxBytesPerPartition,
      maxBytes: tuning.maxBytes,
      metadataMaxAge: tuning.metadataMaxAgeMs,
      allowAutoTopicCreation: false,
      // A restart from inside would bring back a consumer that we gave up.
      retry: { ...patient.retry, restartOnFailure: () => Promise.resolve(false) },
    });
    this.#listen();
    this.#watch();
  }

  /** Connects, joins and fetches until `ended`. Trouble shows there, not here. */
  async run(): Promise<void> {
    const { topics, listener } = this.#parts;
    try {
      await this.#consumer.connect();
      // What offset a new group starts at is decided by `fromBeginning`, and so is what follows an offset out of range.
      if (!this.#over) await this.#consumer.subscribe({ topics: [...topics], fromBeginning: true });
      if (!this.#over) {
        await this.#consumer.run({
          autoCommit: false,
          eachBatchAutoResolve: false,
          partitionsConsumedConcurrently: workers,
          eachBatch: (payload) => (this.#over ? Promise.resolve() : listener.batch(payload)),
        });
      }
    } catch (error) {
      this.fail(error);
    }
    if (this.#over) await this.#disconnect();
  }

  /** Ends this life because of `reason`; the consumer leaves in the background. */
  fail(reason: unknown): void {
    if (this.#over) return;
    this.#over = true;
    this.#stopWatching();
    for (const giveUp of this.#committing) giveUp();
    this.#settle(reason);
  }

  /** Leaves the group and disconnects; returns when done or when the limit is over. */
  async end(): Promise<void> {
    this.fail(undefined);
    const { timers, tuning, logger } = this.#parts;
    if (await within(this.#disconnect(), tuning.leaveLimitMs, timers)) return;
    logger.warn({ limitMs: tuning.leaveLimitMs }, 'the consumer did not disconnect in time; left behind');
  }

  pause(topic: string, partition: number): void {
    this.#quietly(() => this.#consumer.pause([{ topic, partitions: [partition] }]));
  }

  resume(topic: string, partition: number): void {
    this.#quietly(() => this.#consumer.resume([{ topic, partitions: [partition] }]));
  }

  seek(topic: string, partition: number, offset: number): void {
    this.#quietly(() => this.#consumer.seek({ topic, partition, offset: String(offset) }));
  }

  /** Stores offsets; `false`: this life is over, and nothing may have been stored. Rejects with the driver's error. */
  async commit(offsets: TopicPartitionOffsetAndMetadata[]): Promise<boolean> {
    if (this.#over) return false;
    // No race with `ended`: each would leave a handler on a promise that stays open for months.
    return new Promise((resolve, reject) => {
      const giveUp = () => resolve(false);
      this.#committing.add(giveUp);
      this.#consumer
        .commitOffsets(offsets)
        .then(() => resolve(true), reject)
        .finally(() => this.#committing.delete(giveUp));
    });
  }

  /** Milliseconds since the last fetch, `undefined` before the first. */
  fetchedAgoMs(): number | undefined {
    return this.#lastFetchMs === undefined ? undefined : this.#parts.clock.now() - this.#lastFetchMs;
  }

  #listen(): void {
    const consumer = this.#consumer;
    const { events } = consumer;
    const { listener, clock } = this.#parts;
    const signal = () => (this.#lastSignalMs = clock.now());
    consumer.on(events.HEARTBEAT, signal);
    consumer.on(events.FETCH_START, ({ payload }) => this.#silent.asked(payload.nodeId, clock.now()));
    consumer.on(events.FETCH, ({ payload: { nodeId: broker } }) => {
      this.#lastFetchMs = signal();
      if (this.#silent.answered(broker)) this.#parts.logger.info({ broker }, 'the broker answers again');
    });
    consumer.on(events.REBALANCING, () => {
      if (!this.#over) listener.rebalancing();
    });
    consumer.on(events.GROUP_JOIN, ({ payload }) => {
      signal();
      if (this.#over) void this.#disconnect();
      else listener.joined(payload.memberId, payload.memberAssignment);
    });
    consumer.on(events.CRASH, ({ payload }) => this.fail(payload.error));
  }

  #watch(): void {
    const { timers, tuning, clock, logger, group } = this.#parts;
    const everyMs = Math.min(tuning.watchdogMs, tuning.silentBrokerMs) / 3;
    const look = () => {
      const silentMs = clock.now() - this.#lastSignalMs;
      if (silentMs >= tuning.watchdogMs) {
        this.fail(new Error(`no sign of life for ${Math.round(silentMs)} ms`));
        return;
      }
      for (const silent of this.#silent.look(clock.now()))
        logger.warn({ group, ...silent }, 'a broker does not answer: the partitions that it leads stand still');
      this.#stopWatching = timers.after(everyMs, look);
    };
    this.#stopWatching = timers.after(everyMs, look);
  }

  async #disconnect(): Promise<void> {
    try {
      await this.#consumer.disconnect();
    } catch (error) {
      this.#parts.logger.debug({ error: String(error) }, 'the consumer did not leave in order');
    }
  }

  // Between a crash and its event the driver has no group, and says so by throwing; the next life sets all anew.
  #quietly(step: () => void): void {
    if (this.#over) return;
    try {
      step();
    } catch (error) {
      this.#parts.logger.debug({ error: String(error) }, 'the consumer is between two groups');
    }
  }
}
