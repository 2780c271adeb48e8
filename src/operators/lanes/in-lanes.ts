import { Observable, type OperatorFunction } from 'rxjs';

import type { Clock, Timers } from '../../ports/clock.ts';
import { Alarm } from '../alarm.ts';
import type { Demand } from '../demand.ts';
import { subscribeWithin } from '../interop/subscribe-within.ts';

import type { FairLanes } from './fair-lanes.ts';
import type { Place } from './lane.ts';
import type { Turn } from './turn.ts';

export type { Place } from './lane.ts';

/** What {@link inLanes} needs. */
export interface InLanesOptions<T> {
  readonly lanes: FairLanes<T>;
  readonly place: (item: T) => Place;
  /** Towards the source: as many items are requested as the lanes have room for. */
  readonly demand: Demand;
  /** Turns out at once; an integer >= 1. */
  readonly maxInTurn: number;
  readonly clock: Clock;
  readonly timers: Timers;
}

/**
 * Queues what comes in its lane and emits a turn for whatever may go, while fewer than `maxInTurn` are out.
 *
 * One loop gives out the turns; ending a turn, waking a room or adding an item from inside it makes it go round once more
 * instead of recursing. One timer waits for the earliest sleeping lane or room; when it fires early the loop finds nothing
 * due and sets it again. Completes when the source has and no item is queued or in turn. Errors with the source, and with
 * what `place` or the gate throws. Unsubscribing cancels the timer and leaves the items in the lanes.
 */
export function inLanes<T>(options: InLanesOptions<T>): OperatorFunction<T, Turn<T>> {
  const { lanes, place, demand, maxInTurn, clock, timers } = options;
  if (!(maxInTurn >= 1)) throw new RangeError(`lanes.maxInTurn must be >= 1, got ${maxInTurn}`);
  return (source$) =>
    new Observable<Turn<T>>((subscriber) => {
      // Requested and not yet arrived; what is between the stages holds its place here.
      let owed = demand.outstanding;
      let sourceIsDone = false;
      let draining = false;
      let changed = false;

      const askForMore = (): void => {
        const free = lanes.room - owed;
        if (free <= 0 || sourceIsDone) return;
        owed += free;
        demand.request(free);
      };

      const giveTurns = (): void => {
        // A round per change, because what was added meanwhile takes part in the choice of the next turn.
        while (changed && !subscriber.closed) {
          changed = false;
          askForMore();
          const turn = lanes.inTurn < maxInTurn ? lanes.next(clock.now()) : undefined;
          if (turn === undefined) continue;
          changed = true;
          subscriber.next(turn);
        }
      };

      const drain = (): void => {
        changed = true;
        if (draining) return;
        draining = true;
        try {
          giveTurns();
        } catch (error) {
          subscriber.error(error);
        }
        draining = false;
        if (subscriber.closed) return;
        if (sourceIsDone && lanes.size === 0 && lanes.inTurn === 0) subscriber.complete();
        // With all turns out nothing can start; the end of one comes back here.
        else if (lanes.inTurn < maxInTurn) alarm.by(lanes.nextWakeMs());
      };
      const alarm = new Alarm(clock, timers, drain);

      subscriber.add(() => alarm.cancel());
      subscriber.add(lanes.attach(drain));
      subscribeWithin(subscriber, source$, {
        next: (item) => {
          owed = Math.max(0, owed - 1);
          try {
            lanes.add(item, place(item));
          } catch (error) {
            subscriber.error(error);
          }
        },
        error: (error) => {
          subscriber.error(error);
        },
        complete: () => {
          sourceIsDone = true;
          drain();
        },
      });
      drain();
    });
}
