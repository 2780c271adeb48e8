import { defer, forkJoin, map, type Observable, of, type OperatorFunction, Subject, take, takeUntil } from 'rxjs';

import { headerText, type InRecord, originOf, type OutRecord, sizeOf } from '../../model/record.ts';
import { Demand } from '../../operators/demand.ts';
import { after } from '../../operators/interop/after.ts';
import { andThen } from '../../operators/interop/and-then.ts';
import { eachOf } from '../../operators/lanes/each-of.ts';
import { FairLanes, go } from '../../operators/lanes/fair-lanes.ts';
import { inLanes, type Place } from '../../operators/lanes/in-lanes.ts';
import type { Turn } from '../../operators/lanes/turn.ts';
import { RingSet } from '../../operators/ring/ring-set.ts';
import type { Traces } from '../../operators/trace/traces.ts';
import type { Timers } from '../../ports/clock.ts';
import type { RecordSink } from '../../ports/record-sink.ts';
import type { AssignedPartition, RecordSource, SourceEvent } from '../../ports/record-source.ts';
import { Partitions } from '../partitions.ts';
import type { Received } from '../received.ts';
import { admit } from '../stages/admit.ts';
import { commit } from '../stages/commit.ts';
import type { Arrival } from '../stages/decode.ts';
import { laneOf } from '../stages/schedule.ts';
import type { RecordTrace } from '../trace/record-trace.ts';
import { traceOf } from '../trace/trace-of.ts';

import { type Routed, routeEvent, type RouteOutcome, type RoutingContext, tooLarge } from './route-event.ts';

/** What reading and routing events needs. */
export interface RouteEventsContext extends Omit<RoutingContext, 'cluster'> {
  readonly source: RecordSource;
  readonly sink: RecordSink;
  readonly timers: Timers;
  /** From its first value on no event begins; what is under way ends, what is done is committed, then the stream completes. */
  readonly stop$: Observable<void>;
  /** `undefined`: nothing is traced. */
  readonly traces?: Traces | undefined;
}

/** An event that was read. */
interface Read {
  readonly received: Pick<Received, 'partition' | 'record' | 'bytes'>;
}

// Small: an event waits in Kafka as well as here, and its handler may hold the event of every chat.
const watermarks = { highItems: 128, lowItems: 32, highBytes: 8 * 1_048_576, lowBytes: 2 * 1_048_576 };
const ringCapacity = 256;
const laneItems = 512;
const mostAtOnce = 64;
const commitEveryMs = 500;
const commitEveryRecords = 1_000;
const misfitLookMs = 30_000;
const stoppingRoom = 'stopping';

/**
 * Routes events as they are read: those of one key one after another, others beside each other, 64 at once. An event counts
 * as done when everything its routes made of it is durable, and only then is it committed, also when one before it is not
 * done yet; what was not committed is routed again, with the same call ids. Emits the outcomes of each event. A partition is
 * paused while 128 of its events wait.
 *
 * Errors with the source. Unsubscribing stops what is under way and leaves the group; what was done since the last commit is
 * then routed again.
 */
export function routeEvents(context: RouteEventsContext): OperatorFunction<SourceEvent, readonly RouteOutcome[]> {
  return (event$) =>
    defer(() => {
      const { source, clock, timers } = context;
      const write = new Writing(context);
      const rings = new RingSet<AssignedPartition, Read>({
        capacity: ringCapacity,
        watermarks,
        sizeOf: ({ received }) => received.bytes,
        pause: (partition) => source.pause(partition),
        resume: (partition) => source.resume(partition),
      });
      const partitions = new Partitions(rings);
      const demand = new Demand();
      let stopping = false;
      const lanes = new FairLanes<Read>({ capacityItems: laneItems }, () =>
        stopping ? { kind: 'wait', room: stoppingRoom, untilMs: Infinity } : go,
      );
      const idle$ = new Subject<void>();
      const stopped$ = andThen(context.stop$, () => {
        stopping = true;
        for (const { partition } of rings.stats()) rings.hold(partition, stoppingRoom);
        return lanes.inTurn === 0 ? of(undefined) : idle$.pipe(take(1));
      });
      const route$ = (turn: Turn<Read>) =>
        andThen(
          write.route(turn.item.received.record),
          (outcomes) => ({ received: turn.item.received, outcomes }),
          () => {
            turn.done();
            if (lanes.inTurn === 0) idle$.next();
          },
        );
      const routed$ = event$.pipe(
        map(readOf),
        // What an earlier owner of the partition has routed is not looked at again.
        admit({
          rings,
          partitions,
          demand,
          clock,
          timers,
          instruments: { known: () => undefined },
          lost: (partition) => lanes.drop(partition),
        }),
        inLanes({ lanes, place, demand, maxInTurn: mostAtOnce, clock, timers }),
        eachOf(route$),
        takeUntil(stopped$),
      );
      return routed$.pipe(
        commit({ partitions, source, timers, commitEveryMs, commitEveryRecords }),
        map(({ outcomes }) => outcomes),
      );
    });
}

function readOf(event: SourceEvent): Arrival<Read> {
  if (event.kind !== 'record') return event;
  const { partition, record } = event;
  return { kind: 'decoded', partition, item: { received: { partition, record, bytes: sizeOf(record) } } };
}

function place({ received: { partition, record } }: Read): Place {
  const lane = laneOf(partition, record.key?.toString('latin1'));
  return { lane, owner: partition, priority: 'normal', tenant: '', cost: 1 };
}

/** Writes what comes of routing. */
class Writing {
  readonly #context: RouteEventsContext;
  readonly #routing: RoutingContext;

  constructor(context: RouteEventsContext) {
    this.#context = context;
    this.#routing = { ...context, cluster: () => context.source.clusterId() };
  }

  /** Emits the outcomes once everything is durable. */
  route(record: InRecord): Observable<readonly RouteOutcome[]> {
    const trace = this.#traceOf(record);
    return andThen(routeEvent(record, this.#routing, trace), (routed) =>
      all(routed.map((one) => this.#writeAll(one, record, trace))).pipe(
        map((outcomes) => {
          trace?.ended(this.#context.clock.now(), factsOf(record, outcomes));
          return outcomes;
        }),
      ),
    );
  }

  #traceOf(record: InRecord): RecordTrace | undefined {
    const { traces, clock, source } = this.#context;
    if (traces === undefined) return undefined;
    const came = { origin: originOf(source.clusterId(), record), readAtMs: clock.now(), held: undefined };
    return traceOf(record, came, traces);
  }

  /** Emits what a route came to once all that it made stands somewhere. */
  #writeAll({ route, outcome, records }: Routed, event: InRecord, trace: RecordTrace | undefined) {
    const written$ = all(records.map((one) => this.#write(one, route, event, trace)));
    return written$.pipe(
      map((fits): RouteOutcome => ({ route, outcome: fits.includes(false) ? 'dead-letter' : outcome })),
    );
  }

  /**
   * Writes until it stands somewhere: what its topic does not take is a dead letter, and that is held until it fits. Emits
   * whether it stands as it was made.
   */
  #write(one: OutRecord, route: string, event: InRecord, trace: RecordTrace | undefined): Observable<boolean> {
    const { sink, timers } = this.#context;
    return andThen(sink.append(one), (ack): Observable<boolean> | boolean => {
      if (ack.kind === 'written') return true;
      const { topic } = one;
      if (topic === 'dead-letters')
        return andThen(after(timers, misfitLookMs), () => this.#write(one, route, event, trace));
      const letter = tooLarge(event, route, { topic, limitBytes: ack.limitBytes }, this.#routing, trace);
      return andThen(this.#write(letter, route, event, trace), () => false);
    });
  }
}

/** Emits once, when each has emitted and completed. */
function all<T>(sources: readonly Observable<T>[]): Observable<readonly T[]> {
  return sources.length === 0 ? of([]) : forkJoin(sources);
}

function factsOf({ headers }: InRecord, outcomes: readonly RouteOutcome[]) {
  const error = outcomes.some(({ outcome }) => outcome === 'dead-letter') ? 'dead_letter' : undefined;
  return {
    attributes: {
      'messaging.message.id': headerText(headers, 'ce_id'),
      'larkspur.event_type': headerText(headers, 'ce_type'),
      'larkspur.routes': outcomes.length,
      'error.type': error,
    },
    error,
  };
}
