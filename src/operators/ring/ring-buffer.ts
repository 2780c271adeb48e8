import { Observable, type OperatorFunction } from 'rxjs';

import type { Clock, Timers } from '../../ports/clock.ts';
import { Alarm } from '../alarm.ts';
import type { Demand } from '../demand.ts';
import { subscribeWithin } from '../interop/subscribe-within.ts';

import type { RingSet } from './ring-set.ts';

/** What {@link emitOnDemand} needs of a buffer. */
export interface Drainable<T> {
  readonly size: number;
  shift(): T | undefined;
  /** Whether `shift` has an item now; absent: whenever there is one. */
  ready?(nowMs: number): boolean;
  /** When items that are there will be ready by themselves. */
  nextDueMs?(): number | undefined;
}

/** Where a buffer whose items wait gets its time from. */
export interface Waking {
  readonly clock: Clock;
  readonly timers: Timers;
}

/**
 * Buffers in rings and emits only what `demand` asks for, partitions in turn: the back-pressure stage. A partition whose
 * head is not due is left out until then, and wakes by `waking`'s timer; without one, nothing waits.
 *
 * Emits in a loop, never from inside another emission, so the stack stays flat however the later stages ask. Completes
 * when the source has and the rings are empty. Errors with the source, and with `internal` when a ring overflows because
 * the source ignores pause. Partitions are opened and dropped on the {@link RingSet} by its owner. Unsubscribing leaves
 * what is buffered in the set: a later subscription emits it, `drop` returns it.
 */
export function ringBuffer<P, T>({
  rings,
  partitionOf,
  demand,
  waking,
}: {
  readonly rings: RingSet<P, T>;
  readonly partitionOf: (item: T) => P;
  readonly demand: Demand;
  readonly waking?: Waking;
}): OperatorFunction<T, T> {
  return emitOnDemand(
    rings,
    (item) => {
      rings.push(partitionOf(item), item);
    },
    demand,
    (listener) => rings.attach(listener),
    waking,
  );
}

/**
 * The loop behind {@link ringBuffer}, for any buffer.
 *
 * @param put stores an item; what it throws ends the stream with that error
 * @param onShrink attaches a listener for when the buffer lost items in another way than `shift`
 */
export function emitOnDemand<T>(
  buffer: Drainable<T>,
  put: (item: T) => void,
  demand: Demand,
  onShrink: (listener: () => void) => () => void = () => () => undefined,
  waking?: Waking,
): OperatorFunction<T, T> {
  return (source$) =>
    new Observable<T>((subscriber) => {
      let sourceIsDone = false;
      let draining = false;

      const drain = (): void => {
        if (draining) return;
        draining = true;
        while (!subscriber.closed && hasItem() && demand.take()) {
          const item = buffer.shift();
          if (item !== undefined) subscriber.next(item);
        }
        draining = false;
        if (sourceIsDone && buffer.size === 0) subscriber.complete();
        else if (!subscriber.closed) alarm?.by(buffer.nextDueMs?.());
      };
      const hasItem = (): boolean => buffer.ready?.(waking?.clock.now() ?? 0) ?? buffer.size > 0;
      const alarm = waking && new Alarm(waking.clock, waking.timers, drain);
      subscriber.add(() => alarm?.cancel());

      subscriber.add(demand.attach(drain));
      subscriber.add(onShrink(drain));
      drain();
      subscribeWithin(subscriber, source$, {
        next: (item) => {
          try {
            put(item);
          } catch (error) {
            subscriber.error(error);
          }
          drain();
        },
        error: (error) => {
          subscriber.error(error);
        },
        complete: () => {
          sourceIsDone = true;
          drain();
        },
      });
    });
}
