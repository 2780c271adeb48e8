import type { Admin, Kafka } from 'kafkajs';
import { filter, map, Observable, Subject, type Subscriber } from 'rxjs';

import { LarkspurError, messageOf } from '../../model/errors.ts';
import { fromAbortable } from '../../operators/interop/from-abortable.ts';
import type { Clock, Timers } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';
import type { Counter, Metrics } from '../../ports/metrics.ts';
import type { Random } from '../../ports/random.ts';
import type { AssignedPartition, Commit, RecordSource, SourceEvent } from '../../ports/record-source.ts';

import { brief, createClient, type KafkaOptions, patient } from './client.ts';
import { larkspurErrorOf, troubleOf, typeOf } from './errors.ts';
import { keepFirstOffsets } from './first-offsets.ts';
import { LifeBudget, lifeBudgetDefaults, type LifeBudgetOptions } from './life-budget.ts';
import { groupDefaults, type GroupTuning } from './life.ts';
import { Membership } from './membership.ts';
import { within } from './within.ts';

/** What a Kafka source needs. */
export interface KafkaSourceOptions {
  readonly client: KafkaOptions;
  readonly group: string;
  /** Logical names; partition p of all of them is read by the same member. */
  readonly topics: readonly string[];
  /** Stands before the logical names on the broker. */
  readonly prefix: string;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Where the group starts when it has committed nothing: where this other one is. Default: at the start of the log. */
  readonly startsAs?: string | undefined;
  readonly tuning?: Partial<GroupTuning>;
  readonly lives?: Partial<LifeBudgetOptions>;
}

/** {@link RecordSource} on Kafka. */
export interface KafkaSource extends RecordSource {
  /** Leaves the group as unsubscribing does: stores the commits on their way, then resolves when it has left. */
  close(): Promise<void>;
}

/**
 * A member of a consumer group. Reading happens in lives, each on a consumer object of its own; a supervisor starts the
 * next one after a jittered wait. Within a life, partitions that a rebalance leaves here keep their
 * {@link AssignedPartition} and go on where they were; the end of a life loses all of them.
 *
 * Throws `config_invalid` for addresses that cannot be used. `event$` errors with `kafka_consumer_failed` when life after
 * life ends for a reason that time does not mend; missing topics, refusals and outages are waited for and logged.
 */
export function createKafkaSource(options: KafkaSourceOptions): KafkaSource {
  return new GroupMember(options);
}

// Longer than a fetch takes on a broker that is well.
const freshMs = 15_000;
// How long a farewell may take besides the consumer's own.
const farewellMs = 5_000;

class GroupMember implements KafkaSource {
  readonly event$: Observable<SourceEvent>;
  readonly rebalancing$: Observable<void>;
  readonly #rebalancing$ = new Subject<void>();
  readonly #options: KafkaSourceOptions;
  readonly #tuning: GroupTuning;
  readonly #kafka: Kafka;
  readonly #adminKafka: Kafka;
  readonly #budget: LifeBudget;
  readonly #commits: Counter;
  readonly #joins: Counter;
  readonly #lives: Counter;
  readonly #closed: Promise<void>;
  #close: () => void = () => undefined;
  #closing = false;
  #epoch = 0;
  #subscriber: Subscriber<SourceEvent> | undefined;
  #running: Promise<void> | undefined;
  #clusterId: string | undefined;
  #membership: Membership | undefined;
  #committing: Promise<unknown> = Promise.resolve();

  constructor(options: KafkaSourceOptions) {
    this.#options = options;
    this.#tuning = { ...groupDefaults, ...options.tuning };
    this.#kafka = createClient(options.client, options.logger, patient);
    this.#adminKafka = createClient(options.client, options.logger, brief);
    this.#budget = new LifeBudget({ ...lifeBudgetDefaults, ...options.lives }, options.random);
    const { metrics, group } = options;
    this.#commits = metrics.counter('larkspur_kafka_commits_total', 'Offset commits', ['group', 'outcome']);
    this.#joins = metrics.counter('larkspur_kafka_joins_total', 'Joins of the consumer group', ['group']);
    this.#lives = metrics.counter('larkspur_kafka_lives_ended_total', 'Consumers given up', ['group', 'why']);
    metrics.gauge('larkspur_kafka_assigned_partitions', 'Partitions this process reads', ['group'], () => [
      [{ group }, this.#membership?.size ?? 0],
    ]);
    this.rebalancing$ = this.#rebalancing$.asObservable();
    this.#closed = new Promise((resolve) => (this.#close = resolve));
    this.event$ = new Observable((subscriber) => {
      if (this.#running !== undefined) {
        throw new LarkspurError('internal', 'a source can be subscribed once; create another one');
      }
      this.#subscriber = subscriber;
      this.#running = this.#supervise();
      return () => void this.close();
    });
  }

  clusterId(): string {
    if (this.#clusterId === undefined) throw new LarkspurError('internal', 'the cluster is known once it was reached');
    return this.#clusterId;
  }

  pause(partition: AssignedPartition): void {
    this.#membership?.pause(partition);
  }

  resume(partition: AssignedPartition): void {
    this.#membership?.resume(partition);
  }

  commit(commits: readonly Commit[]): Observable<void> {
    // One at a time: of two on their way the older one could be stored last.
    return fromAbortable(() => {
      const stored = this.#committing.then(() => this.#commit(commits));
      this.#committing = stored;
      return stored;
    }).pipe(
      filter((stored) => stored),
      map(() => undefined),
    );
  }

  ready(): boolean {
    return this.#membership?.ready(freshMs) ?? false;
  }

  async close(): Promise<void> {
    this.#closing = true;
    this.#membership?.stopTaking();
    this.#close();
    await this.#running;
  }

  /** Lives, one after the other, until somebody closes or nothing helps. */
  async #supervise(): Promise<void> {
    const { clock, timers, logger, group } = this.#options;
    for (;;) {
      const startedMs = clock.now();
      const reason = await this.#live().catch((error: unknown) => error);
      if (this.#closing) return;
      const trouble = troubleOf(reason);
      this.#lives.add({ group, why: trouble });
      const kind = trouble === 'denied' ? 'denied' : isFinal(reason) ? 'broken' : 'network';
      const waitMs = this.#budget.after(kind, clock.now() - startedMs, clock.now());
      const error = larkspurErrorOf(reason, `read as a member of group ${group}`);
      if (waitMs === undefined) {
        this.#subscriber?.error(error);
        return;
      }
      const fields = { code: error.code, type: typeOf(reason), error: error.message, cure: error.cure, waitMs };
      logger[kind === 'network' ? 'warn' : 'error'](fields, 'reading from Kafka stopped; it starts again');
      await within(this.#closed, waitMs, timers);
    }
  }

  /** One life from connection to end; returns what ended it. */
  async #live(): Promise<unknown> {
    const { group, topics, prefix, clock, timers, logger } = this.#options;
    const admin = this.#adminKafka.admin();
    try {
      await Promise.race([this.#prepare(admin), this.#closed]);
      if (!this.#closing) await this.#keepFirstOffsets(admin);
      if (this.#closing) return undefined;
      const membership = new Membership({
        ...{ kafka: this.#kafka, admin, group, topics, prefix, tuning: this.#tuning, clock, timers, logger },
        nextEpoch: () => (this.#epoch += 1),
        emit: (event) => this.#subscriber?.next(event),
        onJoined: () => this.#joins.add({ group }),
        onRebalancing: () => this.#rebalancing$.next(),
      });
      this.#membership = membership;
      const reason = await Promise.race([membership.ended, this.#closed]);
      // Once the consumer begins to stop, a commit silently does nothing.
      await within(this.#committing, farewellMs, timers);
      await membership.end();
      this.#membership = undefined;
      return reason;
    } finally {
      await within(admin.disconnect(), farewellMs, timers);
    }
  }

  async #prepare(admin: Admin): Promise<void> {
    await admin.connect();
    this.#clusterId = (await admin.describeCluster()).clusterId;
    const there = new Set(await admin.listTopics());
    const missing = this.#options.topics
      .map((topic) => this.#options.prefix + topic)
      .filter((name) => !there.has(name));
    if (missing.length === 0) return;
    throw new LarkspurError('topic_missing', `topics are missing, or hidden from this user: ${missing.join(', ')}`, {
      cure: 'create them with: larkspur topics apply',
      retryable: true,
    });
  }

  async #keepFirstOffsets(admin: Admin): Promise<void> {
    const { group, startsAs, prefix, logger } = this.#options;
    if (startsAs === undefined) return;
    const topics = this.#options.topics.map((topic) => prefix + topic);
    const shared = { kafka: this.#adminKafka, admin, tuning: this.#tuning, closed: this.#closed };
    await keepFirstOffsets({ ...shared, group, startsAs, topics, logger });
  }

  /** Stores what is still ours; resolves with whether that is done. A failure is logged and counted. */
  async #commit(commits: readonly Commit[]): Promise<boolean> {
    const { group, logger } = this.#options;
    try {
      const stored = await this.#membership?.commit(commits);
      if (stored === true) this.#commits.add({ group, outcome: 'stored' });
      return stored ?? false;
    } catch (error) {
      const superseded = troubleOf(error) === 'rebalance';
      this.#commits.add({ group, outcome: superseded ? 'superseded' : 'failed' });
      if (!superseded) logger.warn({ group, type: typeOf(error), error: messageOf(error) }, 'a commit was not stored');
      return false;
    }
  }
}

/** Whether another try finds the same: what the driver cannot read, not what it gave up after many tries. */
function isFinal(reason: unknown): boolean {
  if (reason instanceof LarkspurError) return !reason.retryable;
  const exhausted = reason instanceof Error && reason.name === 'KafkaJSNumberOfRetriesExceeded';
  return reason instanceof Error && 'retriable' in reason && reason.retriable === false && !exhausted;
}
