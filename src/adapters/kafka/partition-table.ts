import type { AssignedPartition } from '../../ports/record-source.ts';

import type { Rest } from './rest.ts';

/** What is known about a partition while it is ours. */
export interface Held {
  readonly assigned: AssignedPartition;
  /** Offset of the next record to deliver; `undefined` until the committed one has been read. */
  next: number | undefined;
  paused: boolean;
  /** Fetched, and not delivered yet. */
  rest: Rest | undefined;
}

/** What a join of the group changes. */
export interface Change {
  readonly kept: readonly Held[];
  readonly added: readonly Held[];
  readonly lost: readonly Held[];
}

/**
 * The partitions of this process. Each join is a new epoch; what a member keeps stays the same object, unless its member
 * id changed: then another member may have had the partition meanwhile.
 */
export class PartitionTable {
  readonly #held = new Map<string, Held>();
  readonly #nextEpoch: () => number;
  #memberId: string | undefined;

  /** @param nextEpoch gives a larger number each time */
  constructor(nextEpoch: () => number) {
    this.#nextEpoch = nextEpoch;
  }

  /** Takes over the assignment of a join. */
  join(memberId: string, assignment: ReadonlyMap<string, readonly number[]>): Change {
    const epoch = this.#nextEpoch();
    const mine = new Set([...assignment].flatMap(([topic, numbers]) => numbers.map((number) => keyOf(topic, number))));
    const sameMember = memberId === this.#memberId;
    this.#memberId = memberId;
    const lost = [...this.#held].filter(([key]) => !sameMember || !mine.has(key)).map(([key]) => this.#drop(key));
    const kept = [...this.#held.values()];
    const added: Held[] = [];
    for (const [topic, numbers] of assignment) {
      for (const partition of numbers) {
        const key = keyOf(topic, partition);
        if (this.#held.has(key)) continue;
        const held: Held = { assigned: { topic, partition, epoch }, next: undefined, paused: false, rest: undefined };
        this.#held.set(key, held);
        added.push(held);
      }
    }
    return { kept, added, lost: lost.filter((held) => held !== undefined) };
  }

  /** Ends the membership; returns what was held. */
  clear(): readonly Held[] {
    const lost = [...this.#held.values()];
    this.#held.clear();
    this.#memberId = undefined;
    return lost;
  }

  get(topic: string, partition: number): Held | undefined {
    return this.#held.get(keyOf(topic, partition));
  }

  /** The entry of exactly this assignment, `undefined` once it is over. */
  current(assigned: AssignedPartition): Held | undefined {
    const held = this.get(assigned.topic, assigned.partition);
    return held?.assigned === assigned ? held : undefined;
  }

  /** Whether the process is a member and knows where each of its partitions stands. */
  settled(): boolean {
    return this.#memberId !== undefined && [...this.#held.values()].every(({ next }) => next !== undefined);
  }

  /** Partition numbers held, of any topic, each once. */
  numbers(): number[] {
    return [...new Set([...this.#held.values()].map(({ assigned }) => assigned.partition))];
  }

  get size(): number {
    return this.#held.size;
  }

  #drop(key: string): Held | undefined {
    const held = this.#held.get(key);
    this.#held.delete(key);
    return held;
  }
}

function keyOf(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}
