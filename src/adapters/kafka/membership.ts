import type { Admin, EachBatchPayload, Kafka } from 'kafkajs';

import { LarkspurError, messageOf } from '../../model/errors.ts';
import type { Clock, Timers } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';
import type { AssignedPartition, Commit, SourceEvent } from '../../ports/record-source.ts';

import { type FetchedBatch, tellJump, tellMixed } from './alarms.ts';
import { coPartitioned } from './assigner.ts';
import { deliver, deliverRest, isPaused, type Receiver } from './deliver.ts';
import { type GroupTuning, Life } from './life.ts';
import { type Held, PartitionTable } from './partition-table.ts';
import { readPositions, toStore } from './positions.ts';
import { within } from './within.ts';

/** What a membership is made of. */
export interface MembershipParts {
  readonly kafka: Kafka;
  /** Connected; stays open as long as the membership. */
  readonly admin: Admin;
  readonly group: string;
  /** Logical names. */
  readonly topics: readonly string[];
  readonly prefix: string;
  readonly tuning: GroupTuning;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
  /** Gives epochs, growing over all memberships of the source. */
  readonly nextEpoch: () => number;
  readonly emit: (event: SourceEvent) => void;
  readonly onJoined: () => void;
  readonly onRebalancing: () => void;
}

const tryUnreadableMs = 30_000;
// A paused partition keeps so many fetches' worth of what it was sent.
const restFetches = 2;

/** What one consumer life reads: which partitions, from where, and which of their commits still count. */
export class Membership {
  readonly #parts: MembershipParts;
  readonly #table: PartitionTable;
  readonly #life: Life;
  readonly #receiver: Receiver;
  #taking = true;
  /** The newest search for positions; batches of partitions without one wait for it. */
  #positioning: Promise<void> = Promise.resolve();

  constructor(parts: MembershipParts) {
    this.#parts = parts;
    this.#table = new PartitionTable(parts.nextEpoch);
    this.#receiver = {
      emit: parts.emit,
      takes: (held) => this.#taking && this.#isCurrent(held),
      maxRestBytes: restFetches * parts.tuning.maxBytesPerPartition,
    };
    this.#life = new Life({
      ...parts,
      topics: parts.topics.map((topic) => this.#fullName(topic)),
      assigner: coPartitioned(
        () => this.#table.numbers(),
        (others) => tellMixed(parts, others),
      ),
      listener: {
        joined: (memberId, assignment) => this.#join(memberId, assignment),
        rebalancing: parts.onRebalancing,
        batch: (payload) => this.#batch(payload).catch((error: unknown) => this.#giveUp(payload.batch, error)),
      },
    });
    void this.#life.run();
  }

  /** Resolves with what ended it, `undefined` when it was asked to. */
  get ended(): Promise<unknown> {
    return this.#life.ended;
  }

  /** Partitions that are ours at present. */
  get size(): number {
    return this.#table.size;
  }

  /** Whether the place of each partition is known and something was fetched within `freshMs`. */
  ready(freshMs: number): boolean {
    return (this.#life.fetchedAgoMs() ?? Infinity) < freshMs && this.#table.settled();
  }

  pause(partition: AssignedPartition): void {
    const held = this.#table.current(partition);
    if (held === undefined || held.paused) return;
    held.paused = true;
    this.#life.pause(this.#fullName(partition.topic), partition.partition);
  }

  resume(partition: AssignedPartition): void {
    const held = this.#table.current(partition);
    if (held?.paused !== true) return;
    held.paused = false;
    // Not within the call: who resumes is seldom ready to be given records.
    if (held.rest !== undefined) this.#parts.timers.after(0, () => this.#goOn(held));
    else this.#life.resume(this.#fullName(partition.topic), partition.partition);
  }

  /** Stores what is still ours; resolves with whether something was stored. Rejects with the driver's error. */
  async commit(commits: readonly Commit[]): Promise<boolean> {
    const ours = commits.filter(({ partition }) => this.#table.current(partition) !== undefined);
    if (ours.length === 0) return false;
    return this.#life.commit(ours.map((one) => toStore(this.#fullName(one.partition.topic), one)));
  }

  /** From now on nothing is delivered; commits still count. */
  stopTaking(): void {
    this.#taking = false;
  }

  /** Gives up all partitions, leaves the group, disconnects. */
  async end(): Promise<void> {
    this.stopTaking();
    this.#lose(this.#table.clear());
    await this.#life.end();
  }

  #join(memberId: string, assignment: Readonly<Record<string, readonly number[]>>): void {
    this.#parts.onJoined();
    const entries = Object.entries(assignment).map(([full, numbers]) => [this.#logicalName(full), numbers] as const);
    const { kept, added, lost } = this.#table.join(memberId, new Map(entries));
    // Without the seek all that is not committed would come again, also on partitions that did not move.
    for (const held of kept) {
      const { assigned, next, paused } = held;
      const full = this.#fullName(assigned.topic);
      held.rest = undefined;
      if (next !== undefined) this.#life.seek(full, assigned.partition, next);
      // The driver remembers pauses, also one that was for what was kept.
      if (paused) this.#life.pause(full, assigned.partition);
      else this.#life.resume(full, assigned.partition);
    }
    this.#lose(lost);
    const open = [...kept, ...added].filter(({ next }) => next === undefined);
    // A fetch from an offset that retention has passed makes the driver overwrite the group's offset, metadata and all:
    // then nobody could tell what was missed. So nothing is fetched before the place is known.
    for (const { assigned } of open) this.#life.pause(this.#fullName(assigned.topic), assigned.partition);
    if (open.length > 0) this.#positioning = this.#position(open);
  }

  /** Finds where partitions stand, however often it takes, and tells that they are ours. */
  async #position(open: readonly Held[]): Promise<void> {
    const { admin, group, logger, timers, tuning } = this.#parts;
    const topics = [...new Set(open.map(({ assigned }) => this.#fullName(assigned.topic)))];
    const waiting = () => open.filter((held) => held.next === undefined && this.#isCurrent(held));
    while (waiting().length > 0) {
      try {
        const positions = await readPositions(admin, group, topics, logger);
        for (const held of waiting()) this.#place(held, positions);
        return;
      } catch (error) {
        logger.warn({ group, error: messageOf(error) }, 'committed offsets cannot be read; trying again');
        await within(this.#life.ended, tuning.heartbeatMs, timers);
      }
    }
  }

  #place(held: Held, positions: Awaited<ReturnType<typeof readPositions>>): void {
    const { assigned } = held;
    const full = this.#fullName(assigned.topic);
    const found = positions.find(({ topic, partition }) => topic === full && partition === assigned.partition);
    if (found === undefined) throw new Error(`no offsets for ${full}/${assigned.partition}`);
    held.next = found.offset;
    // A batch on its way may start somewhere else: after the seek it is stale.
    this.#life.seek(full, assigned.partition, found.offset);
    this.#life.resume(full, assigned.partition);
    this.#parts.emit({ kind: 'assigned', partition: assigned, fromOffset: found.offset, metadata: found.metadata });
  }

  /** Delivers what there is room for. Its errors must not reach the driver, which dies of them or repeats for ever. */
  async #batch(payload: EachBatchPayload): Promise<void> {
    const { batch } = payload;
    const topic = this.#logicalName(batch.topic);
    if (this.#table.get(topic, batch.partition)?.next === undefined) {
      // Not for long: heartbeats come from the loop that waits for this handler.
      await within(this.#positioning, this.#parts.tuning.heartbeatMs, this.#parts.timers);
    }
    const held = this.#table.get(topic, batch.partition);
    // What was kept comes first.
    if (held?.next === undefined || held.paused || held.rest !== undefined || !this.#taking || payload.isStale())
      return;
    if (Number(batch.highWatermark) < held.next) {
      this.#life.fail(new Error(`${batch.topic}/${batch.partition} is shorter than it was: was it created anew?`));
      return;
    }
    tellJump(this.#parts, batch, held.next);
    const { taken, broken } = deliver(held, batch, this.#receiver);
    if (broken !== undefined) this.#hold(held, batch, broken);
    if (taken !== undefined) payload.resolveOffset(taken);
  }

  /** Delivers what was left when the partition was paused; only then more is fetched. */
  #goOn(held: Held): void {
    const { rest, assigned } = held;
    if (rest === undefined || held.paused || !this.#taking || !this.#isCurrent(held)) return;
    const full = this.#fullName(assigned.topic);
    try {
      const over = deliverRest(held, rest, this.#receiver);
      if (over && !isPaused(held)) this.#life.resume(full, assigned.partition);
    } catch (error) {
      this.#giveUp({ topic: full, partition: assigned.partition }, error);
    }
  }

  #giveUp({ topic, partition }: Pick<FetchedBatch, 'topic' | 'partition'>, cause: unknown): void {
    const message = `records of ${topic}/${partition} cannot be delivered: ${messageOf(cause)}`;
    this.#life.fail(new LarkspurError('kafka_consumer_failed', message, { cause }));
  }

  /** Nothing is read past what cannot be read. Now and then it is tried again: another replica may have it whole. */
  #hold(held: Held, { topic, partition }: FetchedBatch, why: string): void {
    const { logger, timers, group } = this.#parts;
    const fields = { group, topic, partition, offset: held.next, why, retryMs: tryUnreadableMs };
    logger.error(fields, 'a partition cannot be read on; it is held, the others go on');
    this.#life.pause(topic, partition);
    timers.after(tryUnreadableMs, () => {
      if (this.#isCurrent(held) && !held.paused) this.#life.resume(topic, partition);
    });
  }

  #isCurrent(held: Held): boolean {
    return this.#table.current(held.assigned) === held;
  }

  #lose(lost: readonly Held[]): void {
    for (const { assigned, next } of lost) {
      // Nobody heard of a partition whose place was never found.
      if (next !== undefined) this.#parts.emit({ kind: 'lost', partition: assigned });
    }
  }

  #fullName(topic: string): string {
    return this.#parts.prefix + topic;
  }

  #logicalName(full: string): string {
    return full.slice(this.#parts.prefix.length);
  }
}
