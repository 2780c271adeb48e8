import { type OperatorFunction, tap } from 'rxjs';

import type { Demand } from '../../operators/demand.ts';
import { type FairLanes, type Gate, go } from '../../operators/lanes/fair-lanes.ts';
import { inLanes, type Place } from '../../operators/lanes/in-lanes.ts';
import type { Clock, Timers } from '../../ports/clock.ts';
import type { AssignedPartition } from '../../ports/record-source.ts';
import type { Batches } from '../batches.ts';
import { halfHourOf } from '../half-hour.ts';
import { freshAnswer, mayHaveFallback, maySaveCall } from '../has-fallback.ts';
import type { Decoded, Job, Scheduled } from '../job.ts';
import { type Lines, offsetOf } from '../lines.ts';
import type { Overflow } from '../overflow.ts';
import type { Pauses } from '../pauses.ts';
import { cancelledRoom, halfHourRoom, leavingRoom, limitRoom } from '../rooms.ts';
import type { Turns } from '../turns.ts';
import { shouldLeave } from '../waiting.ts';
import type { WaitReason } from '../waits.ts';

/** What schedule needs. */
export interface ScheduleContext {
  readonly lanes: FairLanes<Decoded>;
  readonly demand: Demand;
  readonly turns: Turns;
  readonly batches: Batches;
  readonly overflow: Overflow;
  /** Turns out at once, over all upstreams, until their terminal records are durable. */
  readonly maxInTurn: number;
  readonly clock: Clock;
  readonly timers: Timers;
}

/**
 * Order and fairness: records of one ordering key go one after the other, priorities and tenants take turns, and nobody
 * is let through that could not start at once. What a tenant has beyond its share goes by itself, to leave for a delay topic.
 * Emits a turn; the lane goes on when the turn ends.
 */
export function schedule(context: ScheduleContext): OperatorFunction<Decoded, Scheduled> {
  const { lanes, turns, batches, overflow, demand, maxInTurn, clock, timers } = context;
  const place = (item: Decoded): Place => {
    // What is left of a call that was cancelled in its ring is nothing: it counts among nobody.
    if (item.kind !== 'call' || item.over || overflow.comes(item)) return placeOf(item);
    return { ...placeOf(item), lane: undefined };
  };
  return (decoded$) =>
    decoded$.pipe(
      inLanes({ lanes, place, demand, maxInTurn, clock, timers }),
      // Synchronously after the gate said go, so that the next lane is judged against what this one was promised.
      tap(({ item }) => {
        if (item.kind === 'call') {
          item.spent.leftBuffers(clock.now());
          turns.begin(item);
          if (item.seat !== 'none') batches.begins(item);
        }
      }),
    );
}

/** Where a record queues when its lane is not full. Records without a key, and those that need no work, wait for nobody. */
export function placeOf(item: Decoded): Place {
  const { partition } = item.received;
  if (item.kind !== 'call') return { lane: undefined, owner: partition, priority: 'normal', tenant: '', cost: 1 };
  return {
    lane: laneOf(partition, item.orderingKey),
    owner: partition,
    priority: item.call.priority ?? 'normal',
    tenant: `${item.call.app ?? ''}/${item.call.tenant ?? ''}`,
    cost: 1,
    order: offsetOf(item.received),
  };
}

/**
 * The lane of a key. The partition stands before it: the same key in two partitions has no order between them. Its topic
 * does not: what comes out of a delay topic goes on where it left.
 */
export function laneOf({ partition }: AssignedPartition, key: string | undefined): string | undefined {
  return key === undefined ? undefined : `${partition}/${key}`;
}

/** What the gate of the lanes looks at. */
interface GateContext {
  readonly turns: Turns;
  readonly batches: Batches;
  readonly lines: Lines;
  readonly overflow: Overflow;
  readonly pauses: Pick<Pauses, 'has' | 'placeOf'>;
  readonly minWorkMs: number;
  readonly wall: () => number;
}

// How soon a cancelled call is looked at again whose end nobody told the lanes of.
const cancelLookMs = 1_000;

/**
 * Whether the head of a lane could start now, and if not, which room it waits in and until when. Takes nothing: what it
 * finds free is taken in the attempt. Who would wait for long is let through to leave for a delay topic.
 */
export function gate(item: Decoded, nowMs: number, context: GateContext): Gate {
  const { turns, batches, lines, overflow, pauses, minWorkMs, wall } = context;
  if (item.kind !== 'call' || item.over) return go;
  // It ends out of its turn, which takes an answer of the claims' store: then what is left of it goes.
  if (item.pulled === 'now') return { kind: 'wait', room: cancelledRoom(item.id), untilMs: nowMs + cancelLookMs };
  if (item.awayMs !== undefined) {
    item.needsNothing = true;
    return turns.mayLeave ? go : { kind: 'wait', room: leavingRoom, untilMs: Infinity };
  }
  item.adoptPolicies();
  item.needsNothing = false;
  item.seat = 'none';
  const lastStartMs = item.deadlineMs - minWorkMs;
  const { destination, plan } = item;
  if (nowMs > lastStartMs) return go;
  // Its own wait, and whoever is before it, come first: what it would wait for here it does not need yet.
  if ((item.longWait?.untilMs ?? 0) > nowMs || overflow.isEarly(item) || lines.ahead(item) !== undefined) return go;
  item.needsNothing = maySaveCall(item) && freshAnswer(item, wall()) !== undefined;
  if (item.needsNothing) return go;
  if (pauses.has(destination.name)) {
    item.waits('paused', nowMs);
    return { kind: 'wait', ...pauses.placeOf(destination.name, lastStartMs) };
  }
  const peak = halfHourOf(item, wall);
  if (peak !== undefined) {
    const untilMs = nowMs + peak.waitMs;
    return waitIn(halfHourRoom(destination.name, peak.slot), item, 'half-hour', untilMs, nowMs, context);
  }
  if (destination.working.inUse >= destination.working.limit) {
    return waitIn(item.rooms.slots, item, 'upstream-slots', Infinity, nowMs, context);
  }
  const fullRoom = turns.full(item);
  if (fullRoom !== undefined) return waitIn(fullRoom, item, 'upstream-slots', Infinity, nowMs, context);
  const openUntilMs = item.breaker?.peek(nowMs);
  if (openUntilMs !== undefined && !mayHaveFallback(item)) {
    return waitIn(item.rooms.breaker, item, 'breaker', openUntilMs, nowMs, context);
  }
  const { atMs, key } = destination.limiter.earliestMs(plan.limits, nowMs, item.appointed);
  if (plan.batch !== undefined && !item.alone) {
    const seat = batches.seatOf(item, plan.batch, atMs, nowMs);
    if (typeof seat === 'number') {
      return waitIn(batches.roomOf(item, plan.batch, key), item, 'rate-limit', seat, nowMs, context);
    }
    item.seat = seat;
    return go;
  }
  if (atMs > nowMs) return waitIn(limitRoom(destination.name, key), item, 'rate-limit', atMs, nowMs, context);
  return go;
}

/** It waits in that room, unless that helps nobody. A function of its own: the gate is asked several times for each call. */
function waitIn(
  room: string,
  job: Job,
  why: WaitReason,
  untilMs: number,
  nowMs: number,
  { lines, minWorkMs }: GateContext,
): Gate {
  // Past the last useful moment: let it through to end as too late, or to its fallback.
  if (untilMs !== Infinity && untilMs > job.deadlineMs - minWorkMs) return go;
  job.waits(why, nowMs);
  if (untilMs !== Infinity && shouldLeave(job, untilMs - nowMs, lines)) {
    job.leaving = { untilMs, why };
    return go;
  }
  return { kind: 'wait', room, untilMs };
}
