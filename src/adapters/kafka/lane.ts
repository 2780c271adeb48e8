import type { OutRecord } from '../../model/record.ts';
import type { Timers } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';
import type { Ack } from '../../ports/record-sink.ts';

import type { Stored } from './producers.ts';
import type { SendGate } from './send-gate.ts';

/** A record on its way, and who waits for it. */
export interface Outgoing {
  readonly bytes: number;
  readonly write: {
    readonly record: OutRecord;
    /** When it was handed over, monotonic milliseconds. */
    readonly sinceMs: number;
    acknowledge(ack: Ack): void;
  };
  /** Asked before it is sent again, of a record that must not stand twice: its offset, or `undefined` when it stands nowhere. */
  readonly written?: (() => Promise<number | undefined>) | undefined;
}

/** What a lane does to the world. */
export interface LaneWorld {
  /** Writes records of this lane; resolves with where the first stands, and when. */
  readonly send: (records: readonly OutRecord[]) => Promise<Stored>;
  /** Whether a send failed because it was too large, which no repetition mends. */
  readonly isTooLarge: (error: unknown) => boolean;
  /** What the topic takes, in bytes. */
  readonly limitBytes: () => Promise<number>;
  readonly onFailure: (error: unknown, waitMs: number) => void;
  /** Bounds the sends under way over all lanes. */
  readonly gate: SendGate;
  readonly timers: Timers;
  readonly random: Random;
}

// So much is repeated when one send fails, or is halved when it is too large; more bytes pass the usual limit of a topic.
const mostRecords = 500;
const mostBytes = 512 * 1024;
const firstWaitMs = 200;
const longestWaitMs = 5_000;

/**
 * The way of one partition. At most one send is out, and what queued meanwhile goes with the next: load makes batches.
 * One send holds records of one partition alone, because kafkajs loses records of sends over several when a leader
 * moves. A send that failed is repeated for ever, in its place, so order holds; one that is too large is halved until the
 * culprit is alone.
 */
export class Lane {
  readonly #partition: number;
  readonly #world: LaneWorld;
  #queue: Outgoing[] = [];
  #busy = false;
  #closed = false;
  #most = mostRecords;
  #failures = 0;
  /** So many at the front were sent, and nobody knows whether they were written. */
  #doubtful = 0;

  constructor(partition: number, world: LaneWorld) {
    this.#partition = partition;
    this.#world = world;
  }

  /** Since when the first in the queue waits for its acknowledgement, monotonic milliseconds. */
  get waitsSinceMs(): number | undefined {
    return this.#queue[0]?.write.sinceMs;
  }

  push(outgoing: Outgoing): void {
    this.#queue.push(outgoing);
    if (this.#busy || this.#closed) return;
    this.#busy = true;
    // Later in the same turn, so that what is appended together goes together.
    queueMicrotask(() => void this.#drain());
  }

  /** No send starts any more; what is queued is never acknowledged. */
  close(): void {
    this.#closed = true;
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0 && !this.#closed) {
      if (this.#doubtful > 0) await this.#withdraw();
      if (this.#queue.length === 0) break;
      const leave = await this.#world.gate.enter();
      if (this.#isClosed()) {
        leave();
        break;
      }
      // Counted only now: what queued at the gate goes along.
      const count = this.#fitting();
      const batch = this.#queue.slice(0, count);
      try {
        const { offset, ...dated } = await this.#world.send(batch.map(({ write }) => write.record)).finally(leave);
        this.#failures = 0;
        this.#most = Math.min(mostRecords, this.#most * 2);
        this.#settle(batch, (index) => ({
          kind: 'written',
          partition: this.#partition,
          offset: offset + index,
          ...dated,
        }));
      } catch (error) {
        if (!this.#world.isTooLarge(error)) {
          this.#doubtful = Math.max(this.#doubtful, count);
          await this.#backOff(error);
        } else if (count > 1) this.#most = Math.ceil(count / 2);
        else await this.#refuse(batch);
      }
    }
    this.#busy = false;
  }

  /** A question to a function: it may have become so during a wait, unseen by the compiler. */
  #isClosed(): boolean {
    return this.#closed;
  }

  /** What was sent in vain may have been written all the same: of what must not stand twice the topic is asked. */
  async #withdraw(): Promise<void> {
    const doubtful = this.#queue.slice(0, this.#doubtful);
    const offsets = await Promise.all(doubtful.map(async ({ written }) => written?.()));
    this.#queue = this.#queue.filter((_, index) => offsets[index] === undefined);
    this.#doubtful = 0;
    for (const [index, { write }] of doubtful.entries()) {
      const offset = offsets[index];
      if (offset !== undefined) write.acknowledge({ kind: 'written', partition: this.#partition, offset });
    }
  }

  #fitting(): number {
    let count = 0;
    for (let bytes = 0; count < this.#most; count++) {
      const next = this.#queue[count];
      if (next === undefined) break;
      bytes += next.bytes;
      if (bytes > mostBytes && count > 0) break;
    }
    return count;
  }

  async #refuse(batch: readonly Outgoing[]): Promise<void> {
    const limitBytes = await this.#world.limitBytes();
    this.#most = mostRecords;
    this.#settle(batch, () => ({ kind: 'too-large', limitBytes }));
  }

  #settle(batch: readonly Outgoing[], ackOf: (index: number) => Ack): void {
    this.#queue.splice(0, batch.length);
    let index = 0;
    for (const { write } of batch) write.acknowledge(ackOf(index++));
  }

  /** The outcome is unknown: duplicates are possible, a loss is not. Full jitter. */
  #backOff(error: unknown): Promise<void> {
    const { timers, random, onFailure } = this.#world;
    const ceiling = Math.min(longestWaitMs, firstWaitMs * 2 ** Math.min(this.#failures++, 20));
    const waitMs = Math.max(ceiling / 10, random.next() * ceiling);
    onFailure(error, waitMs);
    return new Promise((resolve) => void timers.after(waitMs, resolve));
  }
}
