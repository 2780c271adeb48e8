import { Subscription } from 'rxjs';

import { type Embedded, openEmbedded } from '../../src/adapters/embedded/embedded.ts';
import { MemoryQuotaLog } from '../../src/adapters/embedded/quota-log.ts';
import type { Call } from '../../src/model/call.ts';
import type { DeadLetterHistory } from '../../src/model/dead-letter.ts';
import { delayTopics } from '../../src/model/delay-topics.ts';
import { headerText, type InRecord, type RecordHeaders } from '../../src/model/record.ts';
import type { Result } from '../../src/model/result.ts';
import { leaseDefaults } from '../../src/pipeline/claim-keeper.ts';
import { dispatchPipeline } from '../../src/pipeline/dispatch-pipeline.ts';
import { type HouseOptions, houseDefaults } from '../../src/pipeline/house-options.ts';
import { createHouse, type House } from '../../src/pipeline/house.ts';
import type { Settled } from '../../src/pipeline/job.ts';
import { Slots } from '../../src/pipeline/slots.ts';
import { tracedSink } from '../../src/pipeline/trace/traced-sink.ts';
import type { BreakerBus } from '../../src/ports/breaker-bus.ts';
import type { Metrics } from '../../src/ports/metrics.ts';
import type { QuotaLog } from '../../src/ports/quota-log.ts';
import type { Random } from '../../src/ports/random.ts';
import type { RecordSource } from '../../src/ports/record-source.ts';
import type { Tracer } from '../../src/ports/tracer.ts';

import { type BenchUpstream, benchDestination } from './bench-destination.ts';
import { HeldSink } from './held-sink.ts';
import type { DeadLetter } from './read-dead-letter.ts';
import { RememberingLogger } from './remembering-logger.ts';
import { tracesTo } from './remembering-tracer.ts';
import { ScriptedTokens } from './scripted-tokens.ts';
import { ScriptedUpstream } from './scripted-upstream.ts';
import { SharedGroup } from './shared-group.ts';
import { noMetrics } from './silent.ts';
import { seededRandom, VirtualTime } from './virtual-time.ts';

const inputTopics = ['calls', ...delayTopics];

/** What a bench is made of. */
export interface BenchOptions {
  /** Default: `feishu` and a plain upstream `news`. */
  readonly upstreams?: Readonly<Record<string, BenchUpstream>>;
  readonly partitions?: number;
  readonly random?: Random;
  readonly house?: Partial<HouseOptions>;
  readonly resultBytes?: number;
  /** Largest record of the delay topics. */
  readonly delayBytes?: number;
  /** How each worker reaches what counts starts; default: one log in memory, for all of them. */
  readonly quota?: (time: VirtualTime) => QuotaLog;
  /** Default: nothing is measured. */
  readonly metrics?: Metrics;
  /** What workers share about their breakers. */
  readonly fleet?: (time: VirtualTime) => BreakerBus;
  /** Attempts of the whole process at once; default 256. */
  readonly processSlots?: number;
  /** Where the spans of each worker go; default: nothing is traced. */
  readonly tracer?: Tracer;
  /** How far the wall clock of each new worker is ahead of the broker's, which is right; default 0. */
  readonly aheadMs?: () => number;
}

/** One worker of the bench: the real pipeline with its own upstream side. */
export interface BenchWorker {
  readonly house: House;
  readonly settled: Settled[];
  /** The error with which the stream ended, or `undefined`. */
  readonly error: unknown;
  /** Ends like a killed process: nothing is given back. */
  crash(): void;
}

/**
 * The real pipeline on the embedded store in memory, virtual time, scripted upstreams. Topics, claims and effects are
 * shared by all workers that are started on it.
 */
export class PipelineBench {
  readonly time = new VirtualTime();
  readonly log = new RememberingLogger();
  readonly store: Embedded;
  readonly sink: HeldSink;
  readonly group: SharedGroup;
  readonly upstreams: ReadonlyMap<string, ScriptedUpstream>;
  readonly tokens = new ScriptedTokens();
  readonly #quota: QuotaLog;
  readonly #options: BenchOptions;
  readonly #random: Random;
  #failure: unknown;

  constructor(options: BenchOptions = {}) {
    this.#options = options;
    this.#random = options.random ?? seededRandom(1);
    this.#quota = new MemoryQuotaLog(this.time);
    const { partitions = 1, resultBytes, delayBytes } = options;
    this.store = openEmbedded({
      data: 'memory',
      clock: this.time,
      timers: this.time,
      logger: this.log,
      clusterId: 'bench',
      nextTurn: (task) => void this.time.after(0, task),
      topics: [
        { name: 'calls', partitions },
        ...delayTopics.map((name) => ({ name, partitions, ...upTo(delayBytes) })),
        { name: 'results', partitions: 1, ...upTo(resultBytes) },
        { name: 'dead-letters', partitions: 1 },
      ],
    });
    this.sink = new HeldSink(this.store.sink, () => this.group.poke());
    this.group = new SharedGroup(this.store, this.time, inputTopics);
    const upstreams = Object.entries(this.#settings());
    this.upstreams = new Map(upstreams.map(([name, { script }]) => [name, new ScriptedUpstream(this.time, script)]));
  }

  /** The scripted upstream of that name. */
  upstream(name = 'feishu'): ScriptedUpstream {
    const found = this.upstreams.get(name);
    if (found === undefined) throw new Error(`the bench has no upstream ${name}`);
    return found;
  }

  /** A house of the real parts. @param source default: the embedded one, which owns every partition */
  createHouse(source: RecordSource = this.store.source('workers', inputTopics)): House {
    const { time } = this;
    const quota = this.#options.quota?.(time) ?? this.#quota;
    const { processSlots = 256, aheadMs = () => 0 } = this.#options;
    const process = { clock: time, timers: time, random: this.#random, slots: new Slots(processSlots), quota };
    const destinations = new Map(
      Object.entries(this.#settings()).map(([name, settings]) => [
        name,
        benchDestination(name, settings, { ...process, upstream: this.upstream(name), tokens: this.tokens }),
      ]),
    );
    const traces = tracesTo(this.#options.tracer, { clock: time, random: this.#random });
    return createHouse(
      {
        traces,
        clock: { now: () => time.now(), wall: () => time.wall() + aheadMs() },
        timers: time,
        random: this.#random,
        log: this.log,
        metrics: this.#options.metrics ?? noMetrics,
        source,
        sink: traces === undefined ? this.sink : tracedSink(this.sink, traces),
        claims: this.store.claims,
        parked: this.store.parked,
        ...{ destinations, fleet: this.#options.fleet?.(time) },
      },
      { ...houseDefaults, ...this.#options.house },
    );
  }

  /** Starts a worker that can be killed; for one that is stopped in order use `Worker` on {@link createHouse}. */
  start(source?: RecordSource): BenchWorker {
    const house = this.createHouse(source);
    const settled: Settled[] = [];
    let error: unknown;
    const fail = (thrown: unknown): void => void (error = this.#failure = thrown);
    const running = new Subscription();
    running.add(
      dispatchPipeline(house)(house.source.event$).subscribe({ next: (one) => settled.push(one), error: fail }),
    );
    running.add(house.returnClaims$.subscribe({ error: fail }));
    running.add(house.probes$.subscribe({ error: fail }));
    let cancel = (): void => undefined;
    const renewLater = (): void => {
      cancel = this.time.after(leaseDefaults.renewEveryMs, () => {
        running.add(house.keeper.renew().subscribe());
        renewLater();
      });
    };
    renewLater();
    running.add(() => cancel());
    return {
      house,
      settled,
      get error() {
        return error;
      },
      crash: () => running.unsubscribe(),
    };
  }

  /** Writes a call to `calls`; returns nothing, its origin is its offset. */
  call(call: Call | Readonly<Record<string, unknown>>, key: string | null = null, headers: RecordHeaders = []): void {
    this.raw(Buffer.from(JSON.stringify(call)), key, headers);
  }

  /** Writes any bytes to `calls`. */
  raw(value: Buffer | null, key: string | null = null, headers: RecordHeaders = []): void {
    this.store.sink.append({ topic: 'calls', key: key === null ? null : Buffer.from(key), value, headers }).subscribe();
    this.group.poke();
  }

  /** Lets time pass. Throws when the stream of a worker has ended with an error: nothing happens any more, which must prove nothing. */
  run(ms: number): void {
    this.time.advance(ms);
    if (this.#failure !== undefined) throw this.#failure as Error;
  }

  /** All records of a topic, partition by partition. */
  records(topic: string): InRecord[] {
    const records: InRecord[] = [];
    for (
      let partition = 0;
      partition < (inputTopics.includes(topic) ? (this.#options.partitions ?? 1) : 1);
      partition++
    ) {
      for (let offset = 0; ; offset++) {
        const record = this.store.read(topic, partition, offset);
        if (record === undefined) break;
        records.push(record);
      }
    }
    return records;
  }

  get results(): Result[] {
    return this.records('results').map(({ value }) => JSON.parse(String(value)) as Result);
  }

  get deadLetters(): DeadLetter[] {
    return this.records('dead-letters').map((record) => ({
      record,
      reason: headerText(record.headers, 'larkspur-reason'),
      class: headerText(record.headers, 'larkspur-class'),
      origin: headerText(record.headers, 'larkspur-origin'),
      attempts: Number(headerText(record.headers, 'larkspur-attempts')),
      history: JSON.parse(headerText(record.headers, 'larkspur-history') ?? '') as DeadLetterHistory,
    }));
  }

  /** Records of `calls` and the delay topics that the embedded group has not committed yet. */
  get lag(): number {
    return this.store.lag('workers', inputTopics).reduce((sum, { lag }) => sum + lag, 0);
  }

  #settings(): Readonly<Record<string, BenchUpstream>> {
    return this.#options.upstreams ?? { feishu: {}, news: {} };
  }
}

const upTo = (bytes: number | undefined) => (bytes === undefined ? {} : { maxMessageBytes: bytes });
