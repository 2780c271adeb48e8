import { deadLetterHeaders, type DeadLetterHistory } from '../../../src/model/dead-letter.ts';
import { partitionFor } from '../../../src/model/partitioner.ts';
import { headerText, type InRecord, originOf, type OutRecord } from '../../../src/model/record.ts';
import type { Result } from '../../../src/model/result.ts';
import { chance } from '../chance.ts';
import type { PlannedCall } from '../plan.ts';

import { valueOf } from './calls.ts';
import type { World } from './world.ts';

export const clusterId = 'sim';
const epochMs = Date.UTC(2026, 0, 1);

/** The topics of the broker: `calls` with its partitions, and what came out. */
export class Topics {
  /** Records of `calls` per partition, by offset; offsets may have holes. */
  readonly #calls: Map<number, InRecord>[];
  readonly #ends: number[];
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
    this.#calls = Array.from({ length: world.plan.sizes.partitions }, () => new Map<number, InRecord>());
    this.#ends = this.#calls.map(() => 0);
  }

  get partitions(): number {
    return this.#calls.length;
  }

  /** Offset of the next record of a partition. */
  end(partition: number): number {
    return this.#ends[partition] ?? 0;
  }

  read(partition: number, offset: number): InRecord | undefined {
    return this.#calls[partition]?.get(offset);
  }

  /** Somebody hands a call in. */
  produce(call: PlannedCall, index: number): void {
    const { clock, plan, audit, group } = this.#world;
    const key = call.key === null ? null : Buffer.from(call.key);
    const partition = key === null ? index % this.partitions : partitionFor(key, this.partitions);
    let offset = this.end(partition);
    // A transaction marker, or a record that compaction took.
    if (chance(plan.seed, 'hole', index) < plan.sizes.holes) offset++;
    const timestampMs = epochMs + Math.floor(clock.now());
    const record: InRecord = { topic: 'calls', partition, offset, timestampMs, key, value: valueOf(call), headers: [] };
    this.#calls[partition]?.set(offset, record);
    this.#ends[partition] = offset + 1;
    this.#world.note('producer', `writes ${call.kind} ${call.id} to ${partition} at`, offset);
    audit.produced(call, record, originOf(clusterId, record));
    group.poke(partition);
  }

  /** A terminal record is durable. */
  append(record: OutRecord, by: string): void {
    const { audit } = this.#world;
    if (record.topic === 'results') {
      const result = JSON.parse(String(record.value)) as Result;
      this.#world.note(by, `result ${result.status} of`, result.origin);
      audit.result(result);
      return;
    }
    const text = headerText(record.headers, deadLetterHeaders.history) ?? '{}';
    const history = JSON.parse(text) as DeadLetterHistory;
    const origin = headerText(record.headers, deadLetterHeaders.origin) ?? '';
    const attempts = Number(headerText(record.headers, deadLetterHeaders.attempts));
    this.#world.note(by, `dead letter ${history.reason} of`, origin);
    audit.deadLetter(origin, history, attempts);
  }
}
