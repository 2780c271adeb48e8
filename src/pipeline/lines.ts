import { map, type Observable, of, shareReplay } from 'rxjs';

import { andThen } from '../operators/interop/and-then.ts';
import type { Clock } from '../ports/clock.ts';
import type { ParkedCall, ParkedRegister, ParkedScope } from '../ports/parked-register.ts';
import type { AssignedPartition } from '../ports/record-source.ts';

import type { Job } from './job.ts';
import { type AwayCall, ParkedKeys } from './parked-keys.ts';
import type { Received } from './received.ts';

/** What is known of one partition. */
interface Known {
  readonly scope: ParkedScope;
  readonly keys: ParkedKeys;
}

interface Held {
  readonly read$: Observable<Known>;
  known: Known | undefined;
  /** Those that are on their way out and not written down yet, by offset. */
  readonly leaving: Map<number, AwayCall>;
  /** Those of the calls outside that are back and have a place in their lane, by offset. */
  readonly here: Set<number>;
}

/** What lines need. */
export interface LinesParts {
  readonly register: ParkedRegister;
  readonly brokerClock: Clock;
  readonly clusterId: () => string;
  /** Whether a partition still is ours. */
  readonly holds: (partition: AssignedPartition) => boolean;
}

/**
 * Order per key beyond the process: a call of a key that has an earlier call outside lines up behind it. The register is
 * read once for each partition that comes to us, when its first call with a key has its turn; from then on all is known
 * here, and who has nobody outside asks nobody.
 */
export class Lines {
  readonly #parts: LinesParts;
  // By number: partition p of `calls` and of every delay topic is one line of keys.
  readonly #held = new Map<number, Held>();

  constructor(parts: LinesParts) {
    this.#parts = parts;
  }

  /** Keys with calls outside, as far as is known here. */
  get keys(): number {
    let keys = 0;
    for (const { known } of this.#held.values()) keys += known?.keys.size ?? 0;
    return keys;
  }

  /** Calls with a key that are outside, as far as is known here. */
  get calls(): number {
    let calls = 0;
    for (const { known } of this.#held.values()) calls += known?.keys.calls ?? 0;
    return calls;
  }

  /** Whether a call may leave: with a key it has to be written down first. */
  mayLeave({ orderingKey }: Job): boolean {
    return orderingKey === undefined || this.#parts.register.ready();
  }

  /** The call of the same key that is outside and has to end before this one. */
  ahead({ orderingKey, received }: Job): AwayCall | undefined {
    const keys = this.of(received.partition);
    if (keys === undefined || keys.size === 0 || orderingKey === undefined) return undefined;
    return keys.ahead(orderingKey, offsetOf(received));
  }

  /** A call is on its way out: from now on nobody of its key goes before it. Written down by {@link park}. */
  leaves({ orderingKey: key, received }: Job, awayMs: number): void {
    if (key === undefined) return;
    const untilMs = this.#parts.brokerClock.now() + awayMs;
    const call = { key, offset: offsetOf(received), untilMs, dueMs: this.#epochMs(untilMs) };
    const held = this.#heldOf(received.partition);
    held.here.delete(call.offset);
    held.leaving.set(call.offset, call);
    held.known?.keys.add(call);
  }

  /** A call is back from outside and has its place in its lane, where those behind it wait for it. */
  back({ orderingKey, received }: Job): void {
    if (orderingKey === undefined || received.held === undefined) return;
    this.#heldOf(received.partition).here.add(offsetOf(received));
  }

  /** The first call of the same key that goes before this one and is not back: only when it is this one can have its turn. */
  awaited({ orderingKey, received }: Job): AwayCall | undefined {
    const held = this.#held.get(received.partition.partition);
    if (held?.known === undefined || orderingKey === undefined) return undefined;
    return held.known.keys.aheadBesides(orderingKey, offsetOf(received), held.here);
  }

  /** A call that was on its way out stays. One that is written down, now or since it was outside, is so until its ending. */
  stays({ received }: Job): void {
    const held = this.#held.get(received.partition.partition);
    const offset = offsetOf(received);
    if (held?.leaving.delete(offset) === true && received.held === undefined) held.known?.keys.remove(offset);
  }

  /** A call is not outside any more, whatever the register says. */
  forget({ received: { partition } }: Job, { offset }: ParkedCall): void {
    this.of(partition)?.remove(offset);
  }

  /** What is outside of a partition, `undefined` before it was read. */
  of({ partition }: AssignedPartition): ParkedKeys | undefined {
    return this.#held.get(partition)?.known?.keys;
  }

  /** Reads what is outside of a partition, unless that is known. Emits once. */
  read(partition: AssignedPartition): Observable<unknown> {
    return this.#read(partition);
  }

  /** Whether it is worth while to read now. */
  readable(): boolean {
    return this.#parts.register.ready();
  }

  /** A partition was lost: its next owner may write other things down. */
  lost({ partition }: AssignedPartition): void {
    this.#held.delete(partition);
  }

  /** Writes down that a call waits outside until then. Emits once; `false`: its partition is lost. */
  park(job: Job, untilMs: number): Observable<boolean> {
    const { received, orderingKey: key } = job;
    if (key === undefined) return of(true);
    const { register, holds } = this.#parts;
    return andThen(this.#read(received.partition), ({ scope, keys }) => {
      const call: ParkedCall = { key, offset: offsetOf(received), dueMs: this.#epochMs(untilMs) };
      this.#held.get(received.partition.partition)?.here.delete(call.offset);
      keys.add({ ...call, untilMs });
      return andThen(register.put(scope, call), (stored): Observable<boolean> => {
        if (stored) {
          this.#held.get(received.partition.partition)?.leaving.delete(call.offset);
          return of(true);
        }
        this.#forget(received.partition);
        // Somebody else had it meanwhile, who may have written more down.
        return holds(received.partition) ? this.park(job, untilMs) : of(false);
      });
    });
  }

  /**
   * Writes down anew until when a call is outside, which the broker's clock was not known for before. Emits once;
   * `undefined` for one that is not outside any more, as far as is known here.
   */
  parkAnew(job: Job, untilMs: number): Observable<boolean> | undefined {
    const { partition } = job.received;
    const offset = offsetOf(job.received);
    if (!this.holds(partition) || this.of(partition)?.has(offset) !== true) return undefined;
    return this.#held.get(partition.partition)?.here.has(offset) === true ? undefined : this.park(job, untilMs);
  }

  /** When a call that is outside is due, monotonic. */
  dueMs({ dueMs, untilMs }: AwayCall): number {
    const { brokerClock } = this.#parts;
    return untilMs ?? brokerClock.now() + (dueMs - brokerClock.wall());
  }

  /** Whether a partition still is ours. */
  holds(partition: AssignedPartition): boolean {
    return this.#parts.holds(partition);
  }

  /** A record has its ending: whoever stands behind it may go. Emits once; at once where it never was outside. */
  unpark(received: Received): Observable<unknown> | undefined {
    const keys = this.of(received.partition);
    // One that ends on its way out never was outside, also for who is reading just now who is.
    if (this.holds(received.partition))
      this.#held.get(received.partition.partition)?.leaving.delete(offsetOf(received));
    // What comes out of a delay topic is written down, also where nobody has looked there yet.
    const outside = received.held !== undefined || keys?.has(offsetOf(received)) === true;
    return outside ? this.#remove(received) : undefined;
  }

  #epochMs(monotonicMs: number): number {
    const { brokerClock } = this.#parts;
    return Math.round(brokerClock.wall() + (monotonicMs - brokerClock.now()));
  }

  #remove(received: Received): Observable<unknown> {
    const { register, holds } = this.#parts;
    const { partition } = received;
    if (!holds(partition)) return of(false);
    const offset = offsetOf(received);
    return andThen(this.#read(partition), ({ scope, keys }) => {
      this.#held.get(partition.partition)?.here.delete(offset);
      keys.remove(offset);
      return andThen(register.remove(scope, offset), (removed): Observable<unknown> => {
        if (removed) return of(true);
        this.#forget(partition);
        // Somebody else had it meanwhile. Where it is ours again, the line is still written down.
        return this.#remove(received);
      });
    });
  }

  #read(partition: AssignedPartition): Observable<Known> {
    const { known, read$ } = this.#heldOf(partition);
    return known === undefined ? read$ : of(known);
  }

  #heldOf({ partition }: AssignedPartition): Held {
    return this.#held.get(partition) ?? this.#hold(partition, new Map(), new Set());
  }

  /** What is known is known no more; who is on its way out still is. */
  #forget({ partition }: AssignedPartition): void {
    const held = this.#held.get(partition);
    if (held !== undefined) this.#hold(partition, held.leaving, held.here);
  }

  #hold(partition: number, leaving: Held['leaving'], here: Held['here']): Held {
    const name = `${this.#parts.clusterId()}/calls/${partition}`;
    const held: Held = {
      known: undefined,
      leaving,
      here,
      read$: this.#parts.register.open(name).pipe(
        map(({ fence, calls }) => {
          const keys = new ParkedKeys([...calls, ...leaving.values()]);
          return (held.known = { scope: { partition: name, fence }, keys });
        }),
        shareReplay({ bufferSize: 1, refCount: true }),
      ),
    };
    this.#held.set(partition, held);
    return held;
  }
}

/** Where a call stands among those of its partition: where it first stood. */
export function offsetOf({ record, held }: Received): number {
  return (held?.first ?? record).offset;
}
