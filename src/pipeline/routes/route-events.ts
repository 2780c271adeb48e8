import { forkJoin, map, Observable, of, type OperatorFunction, Subscription } from 'rxjs';

import type { InRecord } from '../../model/record.ts';
import { andThen } from '../../operators/interop/and-then.ts';
import { subscribeWithin } from '../../operators/interop/subscribe-within.ts';
import type { Timers } from '../../ports/clock.ts';
import type { RecordSink } from '../../ports/record-sink.ts';
import type { AssignedPartition, Commit, RecordSource, SourceEvent } from '../../ports/record-source.ts';
import { OffsetTracker } from '../offset-tracker.ts';

import { KeyTurns } from './key-turns.ts';
import { routeEvent, type RouteOutcome, type RoutingContext } from './route-event.ts';

/** What reading and routing events needs. */
export interface RouteEventsContext extends Omit<RoutingContext, 'cluster'> {
  readonly source: RecordSource;
  readonly sink: RecordSink;
  readonly timers: Timers;
}

interface Held {
  readonly tracker: OffsetTracker;
  open: number;
  paused: boolean;
  committed: number;
}

interface Job {
  readonly partition: AssignedPartition;
  readonly record: InRecord;
}

// Small: an event waits in Kafka as well as here, and its handler may hold the event of every chat.
const highItems = 128;
const lowItems = 32;
const mostAtOnce = 64;
const commitEveryMs = 500;

/**
 * Routes events as they are read: those of one key one after another, others beside each other. An event counts as done when
 * everything its routes made of it is durable, and only then may its offset be committed; what was not committed is routed
 * again, with the same call ids. Emits the outcomes of each event. Pauses a partition at 128 unfinished events.
 *
 * Errors with the source. Unsubscribing stops what is under way and leaves the group.
 */
export function routeEvents(context: RouteEventsContext): OperatorFunction<SourceEvent, readonly RouteOutcome[]> {
  const { source, sink, timers } = context;
  const routing: RoutingContext = { ...context, cluster: () => source.clusterId() };
  return (event$) =>
    new Observable((subscriber) => {
      const held = new Map<AssignedPartition, Held>();
      const turns = new KeyTurns<Job>();
      const out = new Subscription();
      let atOnce = 0;
      let draining = false;
      let committing = false;

      function route({ partition, record }: Job): Observable<readonly RouteOutcome[]> {
        // Routed for nothing when the next owner reads it anyway.
        if (!held.has(partition)) return of([]);
        return andThen(routeEvent(record, routing), ({ records, outcomes }) =>
          records.length === 0
            ? of(outcomes)
            : forkJoin(records.map((one) => sink.append(one))).pipe(map(() => outcomes)),
        );
      }
      const ended = ({ partition, record }: Job): void => {
        const one = held.get(partition);
        if (one === undefined) return;
        one.tracker.done(record.offset);
        one.open--;
        if (!one.paused || one.open > lowItems) return;
        one.paused = false;
        source.resume(partition);
      };
      const drain = (): void => {
        if (draining) return;
        draining = true;
        for (let turn = atOnce < mostAtOnce ? turns.next() : undefined; turn !== undefined && !subscriber.closed;) {
          const { item, key } = turn;
          atOnce++;
          subscribeWithin(out, route(item), {
            next: (outcomes) => subscriber.next(outcomes),
            error: (error: unknown) => subscriber.error(error),
            complete: () => {
              atOnce--;
              ended(item);
              turns.ended(key);
              drain();
            },
          });
          turn = atOnce < mostAtOnce ? turns.next() : undefined;
        }
        draining = false;
      };
      const take = (partition: AssignedPartition, record: InRecord): void => {
        const one = held.get(partition);
        if (one === undefined) return;
        one.tracker.taken(record.offset);
        one.open++;
        if (one.open >= highItems && !one.paused) {
          one.paused = true;
          source.pause(partition);
        }
        turns.add({ partition, record }, record.key?.toString('latin1'));
        drain();
      };

      const commit = (): void => {
        const commits: Commit[] = [];
        for (const [partition, { tracker, committed }] of held) {
          if (tracker.watermark > committed) commits.push({ partition, offset: tracker.watermark, metadata: '' });
        }
        if (committing || commits.length === 0) return;
        committing = true;
        subscribeWithin(out, source.commit(commits), {
          next: () => {
            for (const { partition, offset } of commits) {
              const one = held.get(partition);
              if (one !== undefined) one.committed = offset;
            }
          },
          error: (error: unknown) => subscriber.error(error),
          complete: () => {
            committing = false;
          },
        });
      };
      let cancelTimer = (): void => undefined;
      const arm = (): void => {
        cancelTimer = timers.after(commitEveryMs, () => {
          commit();
          arm();
        });
      };
      arm();
      subscriber.add(() => {
        cancelTimer();
        out.unsubscribe();
      });
      subscribeWithin(subscriber, event$, {
        next: (event) => {
          switch (event.kind) {
            case 'assigned': {
              const { partition, fromOffset } = event;
              held.set(partition, {
                tracker: new OffsetTracker(fromOffset),
                open: 0,
                paused: false,
                committed: fromOffset,
              });
              break;
            }
            case 'lost':
              held.delete(event.partition);
              break;
            case 'record':
              take(event.partition, event.record);
          }
        },
        error: (error: unknown) => subscriber.error(error),
        complete: () => subscriber.complete(),
      });
    });
}
