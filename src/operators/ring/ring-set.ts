import { LarkspurError } from '../../model/errors.ts';
import { Listeners } from '../listeners.ts';

import type { RingStats } from './ring-stats.ts';
import { Ring } from './ring.ts';
import { type Served, Serving } from './serving.ts';
import { type WatermarkOptions, Watermarks } from './watermarks.ts';

/** What a {@link RingSet} needs: the marks have defaults, the three functions have none. */
export interface RingSetOptions<P, T> {
  /** Items a partition's ring can hold; more than `watermarks.highItems` + the largest fetch. Default 1024. */
  readonly capacity?: number;
  readonly watermarks?: Partial<WatermarkOptions>;
  /** All rings together: from here the largest running partition is paused with every push. Default 32 MiB. */
  readonly totalHighBytes?: number;
  /** These pauses end at so many bytes or fewer. Default a quarter of `totalHighBytes`. */
  readonly totalLowBytes?: number;
  /** Bytes of an item, >= 0; must be the same whenever it is asked for the same item. */
  sizeOf(item: T): number;
  /** Monotonic time before which an item, and what stands behind it, is not served. Default: none waits. */
  dueMs?(item: T): number;
  /** Takes effect synchronously; records that were already on their way may still be pushed. */
  pause(partition: P): void;
  /** May push synchronously. */
  resume(partition: P): void;
}

interface Slot<P, T> extends Served<Slot<P, T>> {
  readonly partition: P;
  readonly ring: Ring<T>;
  readonly marks: Watermarks;
  readonly holds: Set<string>;
  overTotal: boolean;
  paused: boolean;
}

/** Of a partition whose head is not due, so much is read ahead: enough to go on at once, little to keep for an hour. */
const asleepItems = 64;
const asleepBytes = 64 * 1024;
const notDue = 'not-due';

/**
 * One ring per partition, served round robin, with back-pressure towards the source of each.
 *
 * A partition is paused while its watermark, the bytes of all rings together, or any `hold` says so, and resumed when none
 * of them does. Partitions are told apart by identity, so a later assignment of the same partition is another one.
 */
export class RingSet<P, T> {
  readonly #options: RingSetOptions<P, T>;
  readonly #capacity: number;
  readonly #totalHighBytes: number;
  readonly #totalLowBytes: number;
  readonly #slots = new Map<P, Slot<P, T>>();
  readonly #serving: Serving<Slot<P, T>>;
  readonly #changed = new Listeners();
  #size = 0;
  #bytes = 0;
  #anyOverTotal = false;

  /** @throws RangeError naming the field that is out of range */
  constructor(options: RingSetOptions<P, T>) {
    this.#options = options;
    this.#serving = new Serving(({ ring }) => {
      const head = ring.peek();
      return head === undefined ? undefined : (options.dueMs?.(head) ?? 0);
    });
    this.#capacity = options.capacity ?? 1024;
    this.#totalHighBytes = options.totalHighBytes ?? 32 * 1024 * 1024;
    this.#totalLowBytes = options.totalLowBytes ?? this.#totalHighBytes / 4;
    if (!(this.#totalHighBytes > 0)) {
      throw new RangeError(`ring.totalHighBytes must be > 0, got ${this.#totalHighBytes}`);
    }
    if (!(this.#totalLowBytes >= 0 && this.#totalLowBytes < this.#totalHighBytes)) {
      throw new RangeError(`ring.totalLowBytes must be in [0, ${this.#totalHighBytes}), got ${this.#totalLowBytes}`);
    }
    const highItems = options.watermarks?.highItems ?? 512;
    if (!(new Ring<T>(this.#capacity).capacity > highItems)) {
      throw new RangeError(`ring.capacity must be greater than watermarks.highItems ${highItems}`);
    }
    new Watermarks(options.watermarks);
  }

  /** Items in all rings. */
  get size(): number {
    return this.#size;
  }

  /** Bytes in all rings. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Gives a partition its ring. Opening one that is open changes nothing. */
  open(partition: P): void {
    if (this.#slots.has(partition)) return;
    this.#slots.set(partition, {
      partition,
      ring: new Ring(this.#capacity),
      marks: new Watermarks(this.#options.watermarks),
      holds: new Set(),
      overTotal: false,
      paused: false,
      alarm: undefined,
      next: undefined,
      previous: undefined,
    });
  }

  /** Forgets a partition and returns what was left of it, oldest first. It is neither paused nor resumed any more. */
  drop(partition: P): T[] {
    const slot = this.#slots.get(partition);
    if (slot === undefined) return [];
    const left: T[] = [];
    slot.ring.takeInto(left, Infinity);
    this.#slots.delete(partition);
    this.#serving.remove(slot);
    this.#size -= left.length;
    this.#bytes -= slot.marks.bytes;
    this.#endOverTotal();
    this.#changed.notify();
    return left;
  }

  /** @throws LarkspurError `internal` when the partition is not open, or its source went on long after `pause` */
  push(partition: P, item: T): void {
    const slot = this.#slots.get(partition);
    if (slot === undefined) throw new LarkspurError('internal', 'ring: a record came for a partition that is not open');
    if (!slot.ring.push(item)) {
      throw new LarkspurError('internal', `ring: full with ${slot.ring.capacity} records, the source ignores pause`, {
        cure: 'Raise the capacity of the ring above the high mark plus the largest fetch.',
      });
    }
    const bytes = this.#options.sizeOf(item);
    slot.marks.add(bytes);
    this.#size += 1;
    this.#bytes += bytes;
    if (slot.ring.size === 1) this.#serving.place(slot);
    if (slot.alarm !== undefined) readLittleAhead(slot);
    if (this.#bytes >= this.#totalHighBytes) this.#pauseLargest();
    this.#apply(slot);
  }

  /** Whether {@link shift} has an item: partitions whose time has come are served from here on. */
  ready(nowMs: number): boolean {
    for (let slot = this.#serving.wake(nowMs); slot !== undefined; slot = this.#serving.wake(nowMs)) {
      slot.holds.delete(notDue);
      this.#apply(slot);
    }
    return this.#serving.first !== undefined;
  }

  /** When the next sleeping partition is due; `undefined` when none sleeps. */
  nextDueMs(): number | undefined {
    return this.#serving.nextDueMs;
  }

  /** The oldest item of the partition whose turn it is; `undefined` when none is {@link ready}. */
  shift(): T | undefined {
    const slot = this.#serving.first;
    const item = slot?.ring.shift();
    if (slot === undefined || item === undefined) return undefined;
    const bytes = this.#options.sizeOf(item);
    slot.marks.remove(bytes);
    this.#size -= 1;
    this.#bytes -= bytes;
    this.#serving.served(slot);
    this.#endOverTotal();
    this.#apply(slot);
    return item;
  }

  /** The oldest item of a partition, left in place. */
  peek(partition: P): T | undefined {
    return this.#slots.get(partition)?.ring.peek();
  }

  /** Keeps a partition paused until `release` with the same reason. What it already handed over is still served. */
  hold(partition: P, reason: string): void {
    const slot = this.#slots.get(partition);
    if (slot === undefined) return;
    slot.holds.add(reason);
    this.#apply(slot);
  }

  /** Ends a `hold`; of a partition or reason that is not held it is harmless. */
  release(partition: P, reason: string): void {
    const slot = this.#slots.get(partition);
    if (slot?.holds.delete(reason) === true) this.#apply(slot);
  }

  /** Calls `listener` after each `drop`. Returns a function that detaches it. */
  attach(listener: () => void): () => void {
    return this.#changed.attach(listener);
  }

  /** Everything that is buffered, ring by ring, oldest first; for explain. Changes nothing. */
  *items(): IterableIterator<{ readonly partition: P; readonly item: T; readonly ahead: number }> {
    for (const { partition, ring } of this.#slots.values()) {
      let ahead = 0;
      for (const item of ring.items()) yield { partition, item, ahead: ahead++ };
    }
  }

  *stats(): IterableIterator<RingStats<P>> {
    for (const { partition, marks, paused, overTotal, holds } of this.#slots.values()) {
      const reasons = [...(marks.paused ? ['watermark'] : []), ...(overTotal ? ['total'] : []), ...holds];
      yield { partition, items: marks.items, bytes: marks.bytes, paused, reasons };
    }
  }

  /** Last step of every change, because the source may push from inside `resume`. */
  #apply(slot: Slot<P, T>): void {
    const paused = slot.marks.paused || slot.overTotal || slot.holds.size > 0;
    if (paused === slot.paused || this.#slots.get(slot.partition) !== slot) return;
    slot.paused = paused;
    if (paused) this.#options.pause(slot.partition);
    else this.#options.resume(slot.partition);
  }

  #pauseLargest(): void {
    let largest: Slot<P, T> | undefined;
    for (const slot of this.#slots.values()) {
      if (!slot.paused && slot.marks.bytes > (largest?.marks.bytes ?? 0)) largest = slot;
    }
    if (largest === undefined) return;
    largest.overTotal = true;
    this.#anyOverTotal = true;
    this.#apply(largest);
  }

  #endOverTotal(): void {
    if (!this.#anyOverTotal || this.#bytes > this.#totalLowBytes) return;
    this.#anyOverTotal = false;
    const ended = [...this.#slots.values()].filter((slot) => slot.overTotal);
    for (const slot of ended) slot.overTotal = false;
    for (const slot of ended) this.#apply(slot);
  }
}

function readLittleAhead<P, T>({ ring, marks, holds }: Slot<P, T>): void {
  if (ring.size >= asleepItems || marks.bytes >= asleepBytes) holds.add(notDue);
}
