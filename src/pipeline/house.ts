import { defaultIfEmpty, forkJoin, map, merge, type Observable, Subject } from 'rxjs';

import { Demand } from '../operators/demand.ts';
import { eachOf } from '../operators/lanes/each-of.ts';
import { FairLanes } from '../operators/lanes/fair-lanes.ts';
import { RingSet } from '../operators/ring/ring-set.ts';
import type { AssignedPartition } from '../ports/record-source.ts';

import { Batches } from './batches.ts';
import { breakerHints } from './breaker-hints.ts';
import { BrokerClock } from './broker-clock.ts';
import { Cancellations } from './cancellations.ts';
import { ClaimKeeper } from './claim-keeper.ts';
import { declaredProbes } from './declared-probes.ts';
import type { Destination } from './destination.ts';
import { activeChecks } from './health/active-checks.ts';
import { type HouseOptions, houseDefaults } from './house-options.ts';
import type { HouseParts } from './house-parts.ts';
import { Instruments } from './instruments.ts';
import type { Decoded, Job } from './job.ts';
import { Lines } from './lines.ts';
import { OutcomeLines } from './outcome-lines.ts';
import { Overflow } from './overflow.ts';
import { Partitions } from './partitions.ts';
import { Pauses } from './pauses.ts';
import { limitRoom } from './rooms.ts';
import { MinuteBook } from './spike/minute-book.ts';
import type { AdmitContext } from './stages/admit.ts';
import type { AttemptContext } from './stages/attempt.ts';
import type { CancelContext } from './stages/cancel.ts';
import type { ClaimContext } from './stages/claim.ts';
import type { ClassifyContext } from './stages/classify.ts';
import type { CommitContext } from './stages/commit.ts';
import type { DecodeContext } from './stages/decode.ts';
import type { FallbackContext } from './stages/fallback.ts';
import type { HoldContext } from './stages/hold.ts';
import type { RetryContext } from './stages/retry.ts';
import { gate, type ScheduleContext } from './stages/schedule.ts';
import type { SettleContext } from './stages/settle.ts';
import { Turns } from './turns.ts';
import { watchBreakers } from './watch-breakers.ts';
import { watchShapes } from './watch-shapes.ts';

/** Everything that the stages need, and what the runtime asks of the whole. */
export interface House
  extends
    DecodeContext,
    AdmitContext,
    ScheduleContext,
    HoldContext,
    ClaimContext,
    AttemptContext,
    CancelContext,
    ClassifyContext,
    RetryContext,
    FallbackContext,
    SettleContext,
    CommitContext {
  readonly instruments: Instruments;
  readonly brokerClock: BrokerClock;
  /** Upstreams whose calls wait because somebody wants it so. */
  readonly pauses: Pauses;
  /** Takes in an upstream that was added to `destinations`. */
  welcome(destination: Destination): void;
  /** A destination has other breakers or another health check now: they are watched, and probed where that is declared. */
  breakersChanged(destination: Destination): void;
  /** Lets no further record begin; what is under way goes on. Emits once, when nothing is under way any more. */
  drain(): Observable<void>;
  /** Gives claims back whose partition was lost, so that its next owner need not wait for the leases. Runs until unsubscribed. */
  readonly returnClaims$: Observable<void>;
  /** Sends the declared probes of open breakers, asks how upstreams are, and shares what breakers learn. Runs until unsubscribed, never emits. */
  readonly probes$: Observable<never>;
  /** Gives back the claims of calls that wait, and commits what is done. Emits once. */
  finish(): Observable<void>;
}

/** Room of everybody while the process drains. */
const drainingRoom = 'draining';

/** Puts the pipeline's parts together: one of each kind, no I/O yet. */
export function createHouse(parts: HouseParts, options: HouseOptions = houseDefaults): House {
  const { clock, source, claims } = parts;
  const rings = new RingSet<AssignedPartition, Decoded>({
    capacity: options.ringCapacity,
    watermarks: options.watermarks,
    totalHighBytes: options.totalHighBytes,
    sizeOf: (item) => item.received.bytes,
    dueMs: (item) => item.received.held?.dueMs ?? 0,
    pause: (partition) => source.pause(partition),
    resume: (partition) => source.resume(partition),
  });
  let draining = false;
  const abandoned$ = new Subject<AssignedPartition>();
  const lanes: FairLanes<Decoded> = new FairLanes<Decoded>({ capacityItems: options.laneItems }, (item, nowMs) =>
    draining ? { kind: 'wait', room: drainingRoom, untilMs: Infinity } : gate(item, nowMs, gateContext),
  );
  const pauses = new Pauses(() => lanes);
  const batches = new Batches(() => lanes, clock, parts.timers);
  const lookers = new Set<(destination: Destination) => void>([watchBreakers(parts)]);
  const breakersChanged = (destination: Destination): void => lookers.forEach((look) => look(destination));
  const welcome = (destination: Destination): void => {
    destination.limiter.onRoom((key) => {
      const room = limitRoom(destination.name, key);
      lanes.wake(room);
      batches.wake(room);
    });
    breakersChanged(destination);
  };
  for (const destination of parts.destinations.values()) welcome(destination);
  const partitions = new Partitions(rings);
  const returned = (job: Job): void => {
    const { partition } = job.received;
    // It was under way when its partition went: its lane is gone, so nobody here will come back to its claim.
    if (!partitions.holds(partition)) {
      abandoned$.next(partition);
      overflow.ended(job, false);
    }
    cancellations.returned(job);
  };
  const turns = new Turns(lanes, options.maxInTurn, returned, (job) => batches.left(job));
  const brokerClock = new BrokerClock(clock);
  const lines = new Lines({
    register: parts.parked,
    brokerClock,
    clusterId: () => source.clusterId(),
    holds: (partition) => partitions.holds(partition),
  });
  const overflow = new Overflow({
    clock,
    lines,
    partitions,
    sink: parts.sink,
    minWorkMs: options.minWorkMs,
    freeItems: () => lanes.room,
    laneItems: options.laneItems,
    on: options.parkFullLanes,
  });
  const { minWorkMs } = options;
  const gateContext = { turns, batches, lines, overflow, pauses, minWorkMs, wall: () => clock.wall() };
  const cancellations = new Cancellations();
  const keeper = new ClaimKeeper(claims, clock, options.leases, options.claimTtlMs);
  const instruments = new Instruments(parts.metrics, {
    rings,
    lanes,
    partitions,
    keeper,
    lines,
    overflow,
    destinations: parts.destinations,
    pauses,
    clock,
  });
  const eachDestination = (look: (destination: Destination) => void): (() => void) => {
    for (const destination of parts.destinations.values()) look(destination);
    lookers.add(look);
    return () => void lookers.delete(look);
  };
  const house: House = {
    ...parts,
    ...options,
    brokerClock,
    clusterId: () => source.clusterId(),
    rings,
    lanes,
    partitions,
    keeper,
    lines,
    turns,
    batches,
    pauses,
    overflow,
    instruments,
    outcomes: new OutcomeLines(parts, options.outcomeLines),
    minutes: new MinuteBook(clock, parts.hostCounts),
    demand: new Demand(),
    cancellations,
    known: (item) => {
      if (item.kind === 'call') cancellations.begun(item);
    },
    welcome,
    lost: (partition) => {
      overflow.lost(lanes.drop(partition).filter((item) => item.kind === 'call'));
      lines.lost(partition);
      cancellations.lost(partition);
      abandoned$.next(partition);
    },
    returnClaims$: abandoned$.pipe(eachOf((partition) => keeper.giveBack(partition))),
    watchShapes: watchShapes(parts),
    breakersChanged,
    probes$: merge(
      ...[declaredProbes, activeChecks, breakerHints].map((look$) => look$({ ...parts, lanes, eachDestination })),
    ),
    drain() {
      draining = true;
      for (const { partition } of rings.stats()) rings.hold(partition, drainingRoom);
      return turns.idle();
    },
    finish() {
      // A commit that is not stored completes empty, and must not end the other step with it.
      const committed$ = source.commit(partitions.commits()).pipe(defaultIfEmpty(undefined));
      return forkJoin([keeper.giveBack(), committed$]).pipe(map(() => undefined));
    },
  };
  return house;
}
