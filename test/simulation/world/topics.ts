import { deadLetterHeaders, type DeadLetterHistory } from '../../../src/model/dead-letter.ts';
import { delayTopics } from '../../../src/model/delay-topics.ts';
import { heldStateOf } from '../../../src/model/held.ts';
import { partitionFor } from '../../../src/model/partitioner.ts';
import { headerText, type InRecord, originOf, type OutRecord } from '../../../src/model/record.ts';
import type { Result } from '../../../src/model/result.ts';
import { chance } from '../chance.ts';
import type { PlannedCall } from '../plan.ts';

import { valueOf } from './calls.ts';
import type { World } from './world.ts';

export const clusterId = 'sim';
const epochMs = Date.UTC(2026, 0, 1);

/** What the workers read: all with the same partitions. */
export const inputTopics = ['calls', ...delayTopics];

/** A partition of one topic. */
export type Place = Pick<InRecord, 'topic' | 'partition'>;

/** Its name. */
export const nameOf = ({ topic, partition }: Place): string => `${topic}/${partition}`;

interface Log {
  /** By offset; offsets may have holes. */
  readonly records: Map<number, InRecord>;
  end: number;
}

/** The topics of the broker: what the workers read, and what came out. */
export class Topics {
  readonly partitions: number;
  readonly #logs = new Map<string, Log>();
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
    this.partitions = world.plan.sizes.partitions;
    for (const place of this.places()) this.#logs.set(nameOf(place), { records: new Map(), end: 0 });
  }

  /** All partitions that are read. */
  *places(): Iterable<Place> {
    for (const topic of inputTopics)
      for (let partition = 0; partition < this.partitions; partition++) yield { topic, partition };
  }

  /** Offset of the next record of a partition. */
  end(place: Place): number {
    return this.#logOf(place).end;
  }

  read(place: Place, offset: number): InRecord | undefined {
    return this.#logOf(place).records.get(offset);
  }

  /** Somebody hands a call in. */
  produce(call: PlannedCall, index: number): void {
    const { clock, plan, audit, group } = this.#world;
    const key = call.key === null ? null : Buffer.from(call.key);
    const partition = key === null ? index % this.partitions : partitionFor(key, this.partitions);
    const place = { topic: 'calls', partition };
    let offset = this.end(place);
    // A transaction marker, or a record that compaction took.
    if (chance(plan.seed, 'hole', index) < plan.sizes.holes) offset++;
    const timestampMs = epochMs + Math.floor(clock.now());
    const record: InRecord = { ...place, offset, timestampMs, key, value: valueOf(call), headers: [] };
    this.#store(record);
    this.#world.note('producer', `writes ${call.kind} ${call.id} to ${partition} at`, offset);
    audit.produced(call, record, originOf(clusterId, record));
    group.poke(place);
  }

  /** A terminal record is durable, or one in a delay topic, which the broker dates: epoch milliseconds. */
  append(record: OutRecord, by: string): number | undefined {
    const { audit } = this.#world;
    if (delayTopics.includes(record.topic)) {
      return this.#hold(record, by);
    }
    if (record.topic === 'results') {
      const result = JSON.parse(String(record.value)) as Result;
      this.#world.note(by, `result ${result.status} of`, result.origin);
      audit.result(result);
      return undefined;
    }
    const text = headerText(record.headers, deadLetterHeaders.history) ?? '{}';
    const history = JSON.parse(text) as DeadLetterHistory;
    const origin = headerText(record.headers, deadLetterHeaders.origin) ?? '';
    const attempts = Number(headerText(record.headers, deadLetterHeaders.attempts));
    this.#world.note(by, `dead letter ${history.reason} of`, origin);
    audit.deadLetter(origin, history, attempts);
    return undefined;
  }

  /** The broker's own clock says when it came. */
  #hold({ topic, partition = 0, key, value, headers }: OutRecord, by: string): number {
    const { clock, audit, group } = this.#world;
    const place = { topic, partition };
    const timestampMs = epochMs + Math.floor(clock.now());
    const record: InRecord = { ...place, offset: this.end(place), timestampMs, key, value, headers };
    const state = heldStateOf(record);
    this.#world.note(
      by,
      `holds ${state?.origin ?? '?'} for ${state?.why ?? '?'} in ${nameOf(place)} at`,
      record.offset,
    );
    this.#store(record);
    audit.held(record, state);
    group.poke(place);
    return timestampMs;
  }

  #store(record: InRecord): void {
    const log = this.#logOf(record);
    log.records.set(record.offset, record);
    log.end = record.offset + 1;
  }

  #logOf(place: Place): Log {
    const log = this.#logs.get(nameOf(place));
    if (log === undefined) throw new Error(`nobody reads ${nameOf(place)}`);
    return log;
  }
}
