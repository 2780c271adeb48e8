import type { AssignedPartition, Commit } from '../../../src/ports/record-source.ts';
import { between, chance } from '../chance.ts';

import type { Member } from './member.ts';
import { inputTopics, nameOf, type Place } from './topics.ts';
import type { World } from './world.ts';

interface Owned {
  readonly member: Member;
  /** One of each topic: partition p of all of them has one owner. */
  readonly assigned: readonly AssignedPartition[];
}

/** What the broker keeps of a commit. */
export interface Committed {
  readonly offset: number;
  readonly metadata: string;
}

/**
 * The consumer group as the broker sees it: who is a member, who owns which partition, what was committed. A member that
 * is slow to notice goes on with what it has lost; the broker refuses its commits.
 */
export class Group {
  readonly committed = new Map<string, Committed>();
  readonly #members = new Set<Member>();
  readonly #owned = new Map<number, Owned>();
  readonly #world: World;
  #generation = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** Records not committed, over all partitions. */
  get lag(): number {
    const { topics } = this.#world;
    let lag = 0;
    for (const place of topics.places()) lag += topics.end(place) - (this.committed.get(nameOf(place))?.offset ?? 0);
    return lag;
  }

  has(member: Member): boolean {
    return this.#members.has(member);
  }

  join(member: Member): void {
    this.#members.add(member);
    this.#rebalanceSoon();
  }

  /** A member left, or was silent for too long. */
  leave(member: Member): void {
    if (this.#members.delete(member)) this.#rebalanceSoon();
  }

  /** @param noticeMs longest time until an owner hears that it is one no more */
  rebalance(noticeMs: number): void {
    const { seed, topics } = this.#world;
    const generation = ++this.#generation;
    const members = [...this.#members].sort((a, b) => a.process.replica - b.process.replica);
    this.#world.note(
      'broker',
      `generation ${generation} of members`,
      members.map(({ process }) => process.name).join(),
    );
    for (let partition = 0; partition < topics.partitions; partition++) {
      const before = this.#owned.get(partition);
      const next = members[Math.floor(chance(seed, 'owner', generation, partition) * members.length)];
      // Cooperative: who keeps a partition goes on with it. Eager: even the same owner gets it anew.
      const keeps =
        before !== undefined && before.member === next && chance(seed, 'keeps', generation, partition) < 0.7;
      if (keeps) continue;
      this.#owned.delete(partition);
      const lostInMs = between(0, noticeMs, seed, 'notice', generation, partition);
      for (const assigned of before?.assigned ?? []) before?.member.loseIn(lostInMs, assigned);
      if (next === undefined) continue;
      const assigned = inputTopics.map((topic) => ({ topic, partition, epoch: generation }));
      this.#owned.set(partition, { member: next, assigned });
      const takesInMs = between(1, 400, seed, 'assign', generation, partition);
      for (const one of assigned) next.takeIn(takesInMs, one);
    }
  }

  /** The broker stores a commit of an owner; of anybody else it is refused. */
  commit({ partition, offset, metadata }: Commit): boolean {
    if (this.#owned.get(partition.partition)?.assigned.includes(partition) !== true) return false;
    const name = nameOf(partition);
    this.#world.audit.committed(partition, this.committed.get(name), { offset, metadata });
    this.committed.set(name, { offset, metadata });
    return true;
  }

  /** Something was written. */
  poke(place: Place): void {
    this.#owned.get(place.partition)?.member.fetchSoon(place);
  }

  #rebalanceSoon(): void {
    const { seed, clock } = this.#world;
    clock.in(between(10, 1_500, seed, 'join', this.#generation, this.#members.size), () => this.rebalance(500));
  }
}
