import { Observable } from 'rxjs';

import { eventName } from '../../model/event.ts';
import { partitionFor } from '../../model/partitioner.ts';
import type { OutRecord } from '../../model/record.ts';
import { light } from '../../operators/interop/light.ts';
import type { Clock, Timers } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';
import type { Counter, Metrics } from '../../ports/metrics.ts';
import type { Random } from '../../ports/random.ts';
import type { Ack, RecordSink, WriteTrouble } from '../../ports/record-sink.ts';

import { brief, createClient, type KafkaOptions } from './client.ts';
import { larkspurErrorOf, troubleOf, typeOf } from './errors.ts';
import { FailingWrites } from './failing-writes.ts';
import type { KafkaFinder } from './finder.ts';
import { Lane, type Outgoing } from './lane.ts';
import { OpenWrites } from './open-writes.ts';
import { Producers } from './producers.ts';
import { clusterLook, Pulse } from './pulse.ts';
import { wireSizeOf } from './record.ts';
import { SendGate } from './send-gate.ts';
import { TopicSizes } from './topic-sizes.ts';
import { Write } from './write.ts';

/** What a Kafka sink needs. */
export interface KafkaSinkOptions {
  readonly client: KafkaOptions;
  /** Stands before the logical topic names on the broker. */
  readonly prefix: string;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Looks before an event is sent again to one of these topics, so that a lost acknowledgement does not double it. */
  readonly once?: { readonly topics: ReadonlySet<string>; readonly finder: KafkaFinder };
}

/** {@link RecordSink} on Kafka. */
export interface KafkaSink extends RecordSink {
  /**
   * `false` while no broker answers, also when there is nothing to write, and while a write has been waiting for its
   * acknowledgement for three seconds.
   */
  ready(): boolean;
  /**
   * Ends the connections. What was appended and not acknowledged by then may or may not be written and is never
   * acknowledged: `flush` first. Rejects never.
   */
  close(): Promise<void>;
}

/**
 * Writes records, acknowledged by all replicas, with a lane for each partition. `append` is cold: each subscription
 * writes once. It never errors: without brokers, rights or topic it waits, and says so in the log.
 * Throws `config_invalid` for addresses that cannot be used.
 */
export function createKafkaSink(options: KafkaSinkOptions): KafkaSink {
  return new LaneSink(options);
}

const topicRetryMs = 1_000;
// Records carry the clock of who wrote them.
const clockSkewMs = 60_000;
// So long Feishu waits for an answer: what is written more slowly is delivered again.
const unreadyAfterMs = 3_000;
// Measured with 12 partitions at full load: fewer leave the broker idle, more make batches of one.
const sendsAtOnce = 2;

interface Destination {
  /** Full name. */
  readonly topic: string;
  readonly lanes: Map<number, Lane>;
  /** Records that came before the number of partitions was known. */
  early: Write[];
  spread: number;
}

class LaneSink implements KafkaSink {
  readonly #options: KafkaSinkOptions;
  readonly #producers: Producers;
  readonly #sizes: TopicSizes;
  readonly #gate: SendGate;
  readonly #writes = new OpenWrites();
  readonly #destinations = new Map<string, Destination>();
  readonly #failed: Counter;
  readonly #pulse: Pulse;
  readonly #failing = new FailingWrites();
  #closed = false;

  constructor(options: KafkaSinkOptions) {
    this.#options = options;
    const kafka = createClient(options.client, options.logger, brief);
    this.#producers = new Producers(kafka);
    this.#sizes = new TopicSizes(kafka, options.clock);
    this.#gate = new SendGate(sendsAtOnce, options.timers);
    this.#pulse = new Pulse(clusterLook(kafka), options);
    const { metrics } = options;
    this.#failed = metrics.counter('larkspur_kafka_sends_failed_total', 'Sends that are repeated', ['topic', 'why']);
    metrics.gauge('larkspur_kafka_unacknowledged_records', 'Records on their way to Kafka', [], () => [
      [{}, this.#writes.open],
    ]);
  }

  append(record: OutRecord): Observable<Ack> {
    return light((observer) => {
      const write = new Write(record, observer, this.#writes, this.#options.clock.now());
      this.#enqueue(write);
      return write;
    });
  }

  ready(): boolean {
    const untilMs = this.#options.clock.now() - unreadyAfterMs;
    return this.#pulse.beats && !this.#waitsSince(untilMs);
  }

  trouble(topic: string): WriteTrouble | undefined {
    const silent = this.#pulse.beats ? undefined : { why: 'no broker answers', cure: 'see whether the brokers are up' };
    return this.#failing.of(this.#options.prefix + topic) ?? silent;
  }

  flush(): Observable<void> {
    return new Observable<void>((subscriber) =>
      this.#writes.whenDone(() => {
        subscriber.next();
        subscriber.complete();
      }),
    );
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const { lanes } of this.#destinations.values()) for (const lane of lanes.values()) lane.close();
    await Promise.all([this.#producers.close(), this.#pulse.close()]);
  }

  /** Whether the first of some queue has been waiting since then or longer. Asked for each call and event that comes in. */
  #waitsSince(untilMs: number): boolean {
    if (this.#writes.open === 0) return false;
    for (const { early, lanes } of this.#destinations.values()) {
      if (early[0] !== undefined && early[0].sinceMs <= untilMs) return true;
      for (const { waitsSinceMs } of lanes.values())
        if (waitsSinceMs !== undefined && waitsSinceMs <= untilMs) return true;
    }
    return false;
  }

  #enqueue(write: Write): void {
    const logical = write.record.topic;
    let destination = this.#destinations.get(logical);
    if (destination === undefined) {
      destination = { topic: this.#options.prefix + logical, lanes: new Map(), early: [], spread: 0 };
      this.#destinations.set(logical, destination);
    }
    const partitions = this.#sizes.partitions(destination.topic);
    if (partitions !== undefined && destination.early.length === 0) {
      this.#place(destination, partitions, write);
      return;
    }
    destination.early.push(write);
    if (destination.early.length === 1) void this.#discover(destination);
  }

  #place(destination: Destination, partitions: number, write: Write): void {
    const { topic, lanes } = destination;
    const { record } = write;
    const { key } = record;
    const wanted = record.partition ?? (key === null ? destination.spread++ : partitionFor(key, partitions));
    // A topic that was given fewer partitions than its twin loses the order, never a record.
    const partition = wanted % partitions;
    let lane = lanes.get(partition);
    if (lane === undefined) {
      lane = this.#openLane(topic, partition);
      lanes.set(partition, lane);
    }
    lane.push({ bytes: wireSizeOf(record), write, written: this.#onceOnly(record) });
  }

  #onceOnly({ topic, key, headers }: OutRecord): Outgoing['written'] {
    const { once, clock } = this.#options;
    const name = once?.topics.has(topic) === true ? eventName(headers) : undefined;
    if (once === undefined || name === undefined || key === null) return undefined;
    const sinceMs = clock.wall() - clockSkewMs;
    return async () => (await once.finder.locate({ topic, key, name, sinceMs }))?.offset;
  }

  #openLane(topic: string, partition: number): Lane {
    const { timers, random } = this.#options;
    const destination = this.#classOf(topic);
    const place = `${topic}/${partition}`;
    return new Lane(partition, {
      gate: this.#gate,
      send: async (records) => {
        const stored = await this.#producers.send(destination, topic, partition, records);
        this.#pulse.felt();
        this.#failing.worked(place);
        return stored;
      },
      isTooLarge: (error) => troubleOf(error) === 'too-large',
      limitBytes: () => this.#sizes.limitBytes(topic),
      onFailure: (error, waitMs) => this.#tell(topic, place, error, waitMs),
      timers,
      random,
    });
  }

  /** Delay topics come and go together and share a producer; every other topic has its own. */
  #classOf(topic: string): string {
    return topic.startsWith(`${this.#options.prefix}retry.`) ? 'retry' : topic;
  }

  /** Finds out how many partitions a topic has, however often it takes, and lets the early records go. */
  async #discover(destination: Destination): Promise<void> {
    const { timers } = this.#options;
    while (!this.#closed) {
      try {
        const partitions = await this.#sizes.read(destination.topic);
        const early = destination.early;
        destination.early = [];
        this.#failing.worked(destination.topic);
        for (const write of early) this.#place(destination, partitions, write);
        return;
      } catch (error) {
        this.#tell(destination.topic, destination.topic, error, topicRetryMs);
        await new Promise<void>((resolve) => void timers.after(topicRetryMs, resolve));
      }
    }
  }

  #tell(topic: string, place: string, error: unknown, waitMs: number): void {
    if (this.#closed) return;
    this.#failing.failed(place, topic, error, this.#options.clock.now());
    const why = troubleOf(error);
    this.#failed.add({ topic, why });
    const { code, message, cure } = larkspurErrorOf(error, `write to ${topic}`);
    const fields = { topic, code, type: typeOf(error), error: message, cure, waitMs };
    const { logger } = this.#options;
    if (why === 'connection') logger.warn(fields, 'a write to Kafka is repeated');
    else logger.error(fields, 'a write to Kafka is held and repeated');
  }
}
