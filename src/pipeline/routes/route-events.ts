import { forkJoin, map, Observable, of, type OperatorFunction, Subscription } from 'rxjs';

import type { InRecord, OutRecord } from '../../model/record.ts';
import { after } from '../../operators/interop/after.ts';
import { andThen } from '../../operators/interop/and-then.ts';
import { subscribeWithin } from '../../operators/interop/subscribe-within.ts';
import type { Timers } from '../../ports/clock.ts';
import type { RecordSink } from '../../ports/record-sink.ts';
import type { AssignedPartition, Commit, RecordSource, SourceEvent } from '../../ports/record-source.ts';
import { OffsetTracker } from '../offset-tracker.ts';

import { KeyTurns } from './key-turns.ts';
import { routeEvent, type RouteOutcome, type RoutingContext, tooLarge } from './route-event.ts';

/** What reading and routing events needs. */
export interface RouteEventsContext extends Omit<RoutingContext, 'cluster'> {
  readonly source: RecordSource;
  readonly sink: RecordSink;
  readonly timers: Timers;
  /** From its first value on no event begins; what is under way ends, what is done is committed, then the stream completes. */
  readonly stop$: Observable<void>;
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
const misfitLookMs = 30_000;

/**
 * Routes events as they are read: those of one key one after another, others beside each other. An event counts as done when
 * everything its routes made of it is durable, and only then may its offset be committed; what was not committed is routed
 * again, with the same call ids. Emits the outcomes of each event. Pauses a partition at 128 unfinished events.
 *
 * Errors with the source. Unsubscribing stops what is under way and leaves the group; what was done since the last commit is
 * then routed again.
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
      let stopping = false;

      function route({ partition, record }: Job): Observable<readonly RouteOutcome[]> {
        // Routed for nothing when the next owner reads it anyway.
        if (!held.has(partition)) return of([]);
        return andThen(routeEvent(record, routing), ({ records, outcomes }) =>
          records.length === 0
            ? of(outcomes)
            : forkJoin(records.map((one) => write(one, record))).pipe(map(() => outcomes)),
        );
      }
      /** Writes until it stands somewhere: what its topic does not take is a dead letter, and that is held until it fits. */
      function write(one: OutRecord, event: InRecord): Observable<true> {
        return andThen(sink.append(one), (ack): Observable<true> | true => {
          if (ack.kind === 'written') return true;
          if (one.topic !== 'dead-letters') return write(tooLarge(event, one.topic, ack.limitBytes, routing), event);
          return andThen(after(timers, misfitLookMs), () => write(one, event));
        });
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
        if (draining || stopping) return;
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
              stopWhenIdle();
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

      function commit(): void {
        const commits: Commit[] = [];
        for (const [partition, { tracker, committed }] of held) {
          if (tracker.watermark > committed) commits.push({ partition, offset: tracker.watermark, metadata: '' });
        }
        if (committing) return;
        if (commits.length === 0) {
          stopWhenIdle(true);
          return;
        }
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
            stopWhenIdle(true);
          },
        });
      }
      /** @param told whether what was done has been committed, or could not be */
      function stopWhenIdle(told = false): void {
        if (!stopping || atOnce > 0 || committing) return;
        if (told) subscriber.complete();
        else commit();
      }
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
      subscriber.add(
        context.stop$.subscribe({
          next: () => {
            stopping = true;
            stopWhenIdle();
          },
          error: (error: unknown) => subscriber.error(error),
        }),
      );
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
