import { defer, type Observable } from 'rxjs';

import type { LarkspurError } from '../../model/errors.ts';
import type { InRecord } from '../../model/record.ts';
import type { ClaimStore } from '../../ports/claim-store.ts';
import type { Clock, Timers } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';
import type { ParkedRegister } from '../../ports/parked-register.ts';
import type { RecordFinder } from '../../ports/record-finder.ts';
import type { RecordSink } from '../../ports/record-sink.ts';
import type { RecordSource } from '../../ports/record-source.ts';
import type { TopicReader } from '../../ports/topic-reader.ts';
import type { EntryStore } from '../../ports/vault.ts';

import { EmbeddedClaims } from './claims.ts';
import { EmbeddedEntryStore } from './entry-store.ts';
import { EmbeddedFinder } from './finder.ts';
import { LmdbStore } from './lmdb-store.ts';
import { MemoryStore } from './memory-store.ts';
import { Offsets } from './offsets.ts';
import { EmbeddedParkedRegister } from './parked-register.ts';
import { EmbeddedReader } from './reader.ts';
import { toInRecord } from './record-codec.ts';
import { EmbeddedSink } from './sink.ts';
import { EmbeddedSource, type NextTurn } from './source.ts';
import type { Store } from './store.ts';
import { tailOf, type TailOptions } from './tail.ts';
import { type EmbeddedTopic, Topics } from './topics.ts';

/** What the embedded house is opened with. */
export interface EmbeddedOptions {
  /** Path of the data folder, made when it is not there; or `memory`, which ends with the process. */
  readonly data: string;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly topics: readonly EmbeddedTopic[];
  /** How deliveries leave the turn of the event loop. Default `setImmediate`; virtual time passes `timers.after(0, ...)`. */
  readonly nextTurn?: NextTurn;
  /** Cluster id of a `memory` store. Default: a random one. */
  readonly clusterId?: string;
}

/** Topics, offsets and claims of one machine in one process. */
export interface Embedded {
  readonly clusterId: string;
  readonly sink: RecordSink;
  readonly finder: RecordFinder;
  readonly claims: ClaimStore;
  /** Claims on events that come in, with ids of their own. */
  readonly eventClaims: ClaimStore;
  /** Calls that wait in delay topics. */
  readonly parked: ParkedRegister;
  readonly reader: TopicReader;
  /** Claims on requests, likewise. */
  readonly requestClaims: ClaimStore;
  /** And on questions for tokens. */
  readonly tokenClaims: ClaimStore;
  readonly entries: EntryStore;
  /** Opens one more topic; one that is open stays as it is. */
  declare(topic: EmbeddedTopic): void;
  /** Joins a group as its only member. @param startsAs where it starts when it has committed nothing: where this other one is */
  source(group: string, topics: readonly string[], startsAs?: string): RecordSource;
  /** Reads beside any group; see {@link TailOptions}. Errors with `topic_missing`. */
  tail(topic: string, options?: TailOptions): Observable<InRecord>;
  /** One record, or `undefined` when it is not there (any more). */
  read(topic: string, partition: number, offset: number): InRecord | undefined;
  /** Records that the group has not committed yet, per partition. */
  lag(group: string, topics: readonly string[]): readonly { topic: string; partition: number; lag: number }[];
  /** `false` while nothing can be written. */
  ready(): boolean;
  /** Resolves with `data_folder_locked` when another process has taken the folder over: this one should end. */
  readonly lost: Promise<LarkspurError>;
  /** Makes everything durable and gives the folder back. Rejects with `store_full` when it cannot, `data_folder_locked` when another process has it. */
  close(): Promise<void>;
}

const inLaterTurn: NextTurn = (task) => {
  setImmediate(task);
};

/**
 * Opens the embedded house. Throws `data_folder_locked`, `_unusable`, `_damaged` or `_version`; each says what to do. Only one process at a time holds a folder; one that was killed leaves nothing to clean up.
 */
export function openEmbedded(options: EmbeddedOptions): Embedded {
  return new OpenHouse(options);
}

class OpenHouse implements Embedded {
  readonly clusterId: string;
  readonly sink: RecordSink;
  readonly finder: RecordFinder;
  readonly claims: EmbeddedClaims;
  readonly eventClaims: EmbeddedClaims;
  readonly parked: ParkedRegister;
  readonly reader: TopicReader;
  readonly requestClaims: EmbeddedClaims;
  readonly tokenClaims: EmbeddedClaims;
  readonly entries: EntryStore;
  readonly #store: Store;
  readonly #topics: Topics;
  readonly #offsets: Offsets;
  readonly #nextTurn: NextTurn;

  constructor({ data, clusterId, clock, timers, logger, topics, nextTurn = inLaterTurn }: EmbeddedOptions) {
    this.#store = data === 'memory' ? new MemoryStore(clusterId) : LmdbStore.open(data, timers, logger);
    this.#topics = new Topics(this.#store, topics, clock, timers, logger);
    this.#offsets = new Offsets(this.#store);
    this.#nextTurn = nextTurn;
    this.clusterId = this.#store.clusterId;
    this.sink = new EmbeddedSink(this.#topics, this.#store, clock);
    this.finder = new EmbeddedFinder(this.#topics);
    this.claims = new EmbeddedClaims(this.#store, clock, timers);
    this.parked = new EmbeddedParkedRegister(this.#store);
    this.eventClaims = new EmbeddedClaims(this.#store, clock, timers, 'event-claims');
    this.reader = new EmbeddedReader(this.#topics, this.#offsets, this.clusterId, nextTurn);
    this.requestClaims = new EmbeddedClaims(this.#store, clock, timers, 'request-claims');
    this.tokenClaims = new EmbeddedClaims(this.#store, clock, timers, 'token-claims');
    this.entries = new EmbeddedEntryStore(this.#store, clock);
  }

  declare(topic: EmbeddedTopic): void {
    this.#topics.declare(topic);
  }

  source(group: string, topics: readonly string[], startsAs?: string): RecordSource {
    if (startsAs !== undefined) for (const topic of topics) this.#keepFirstOffsets(group, topic, startsAs);
    return new EmbeddedSource(group, topics, this.#topics, this.#offsets, this.clusterId, this.#nextTurn);
  }

  tail(topic: string, options: TailOptions = {}): Observable<InRecord> {
    return defer(() => tailOf(this.#topics.get(topic), options, this.#nextTurn));
  }

  read(topic: string, partition: number, offset: number): InRecord | undefined {
    for (const [at, blob] of this.#topics.get(topic).partitions[partition]?.from(offset) ?? []) {
      return at === offset ? toInRecord(topic, partition, offset, blob) : undefined;
    }
    return undefined;
  }

  lag(group: string, topics: readonly string[]): readonly { topic: string; partition: number; lag: number }[] {
    return topics.flatMap((topic) =>
      this.#topics.get(topic).partitions.map((log, partition) => {
        const committed = this.#offsets.get(group, { topic, partition })?.offset ?? 0;
        return { topic, partition, lag: log.end - Math.max(committed, log.first) };
      }),
    );
  }

  ready(): boolean {
    return this.#store.ready();
  }

  get lost(): Promise<LarkspurError> {
    return this.#store.lost;
  }

  /** Kept, and not only looked up: the other group goes on before this one commits. */
  #keepFirstOffsets(group: string, topic: string, startsAs: string): void {
    const places = this.#topics.get(topic).partitions.map((log, partition) => ({ log, at: { topic, partition } }));
    if (places.some(({ at }) => this.#offsets.get(group, at) !== undefined)) return;
    for (const { log, at } of places) {
      this.#offsets.put(group, at, this.#offsets.get(startsAs, at) ?? { offset: log.first, metadata: null });
    }
  }

  async close(): Promise<void> {
    this.#topics.close();
    this.claims.close();
    this.eventClaims.close();
    this.requestClaims.close();
    this.tokenClaims.close();
    await this.#store.close();
  }
}
