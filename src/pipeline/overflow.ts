import { delayTiers, delayTopics } from '../model/delay-topics.ts';
import { FullLanes, type FullLanesStats } from '../operators/lanes/full-lanes.ts';
import type { Clock } from '../ports/clock.ts';
import type { RecordSink } from '../ports/record-sink.ts';

import { isCancelled } from './endings.ts';
import type { Job } from './job.ts';
import { type Lines, offsetOf } from './lines.ts';
import type { Partitions } from './partitions.ts';

/** What it needs. */
export interface OverflowParts {
  readonly clock: Clock;
  readonly lines: Lines;
  readonly partitions: Pick<Partitions, 'passed'>;
  readonly minWorkMs: number;
  /** Nobody leaves while writes are held: to a delay topic they stay here, and without results nothing ends. */
  readonly sink: Pick<RecordSink, 'trouble'>;
  /** Records for which the lanes have room. */
  readonly freeItems: () => number;
  /** All for which they ever have. */
  readonly laneItems: number;
  /** `false`: nobody leaves because its lane is full; its partition waits. */
  readonly on: boolean;
}

// Each takes some 200 bytes here, as long as it is outside.
const mostParked = 250_000;
// Who leaves has its place until its record is written. Where that takes for ever, the others go on. Less would keep
// those of a burst, which all come before the first of them is written.
const shareOfLeaving = 0.6;
const written = ['results', ...delayTopics];

/**
 * Full lanes: what a tenant has beyond its share at a bucket of quota waits in a delay topic, so that its partition goes on
 * to the records of others. Knows of each call whether it counts here; what is decided is {@link FullLanes}' business.
 */
export class Overflow {
  readonly #parts: OverflowParts;
  readonly #full = new FullLanes({ waitsMs: delayTiers.map(({ waitMs }) => waitMs) });
  /** Calls that are on their way out. */
  #leaving = 0;

  constructor(parts: OverflowParts) {
    this.#parts = parts;
  }

  /** A call comes out of its ring. `false`: its lane is full, and it is told for how long to leave. */
  comes(job: Job): boolean {
    const { clock, lines, freeItems, minWorkMs, on } = this.#parts;
    if (!on) return true;
    const nowMs = clock.now();
    const flow = flowOf(job);
    const behindMs = this.#behindMs(job);
    const waits = behindMs !== undefined;
    job.counted = { flow, waits };
    if (job.received.held !== undefined && job.waitingFor === 'full-lane') this.#full.back(flow, nowMs);
    if (!this.#mayLeave(job, nowMs)) {
      this.#full.stays(flow, waits);
      lines.back(job);
      return true;
    }
    const waitMs = this.#full.comes(flow, {
      nowMs,
      order: offsetOf(job.received),
      // Those on their way out need their place for a moment only.
      freeItems: freeItems() + this.#leaving,
      perSecond: allowedPerSecond(job),
      mostMs: job.deadlineMs - minWorkMs - nowMs,
      behindMs,
    });
    if (waitMs === undefined) {
      lines.back(job);
      return true;
    }
    job.awayMs = waitMs;
    lines.leaves(job, waitMs);
    job.waits('full-lane', nowMs);
    this.#leaving++;
    return false;
  }

  /**
   * Whether earlier calls of its key may be unread: those that waited in their lane are read again after a restart, or by
   * somebody else, and what had left behind them may be back before.
   */
  isEarly({ mayBeEarly, received: { held, record } }: Job): boolean {
    if (!mayBeEarly) return false;
    const { topic, partition, offset } = held?.first ?? record;
    return !this.#parts.partitions.passed(topic, partition, offset);
  }

  /** A call that was to leave stays after all. */
  stays(job: Job): void {
    if (job.awayMs === undefined) return;
    this.#left(job);
    this.#parts.lines.stays(job);
    this.#parts.lines.back(job);
    if (job.counted !== undefined) this.#full.stays(job.counted.flow, job.counted.waits);
  }

  /** A call is gone from here. @param served it has its end */
  ended(job: Job, served: boolean): void {
    const { counted } = job;
    if (counted === undefined) return;
    job.counted = undefined;
    if (job.awayMs !== undefined) this.#left(job);
    else this.#full.ended(counted.flow, counted.waits, this.#parts.clock.now(), served);
  }

  /** A partition was lost: what of it is outside comes back elsewhere. */
  lost(jobs: Iterable<Job>): void {
    for (const job of jobs) this.ended(job, false);
    this.#full.forgetReturns();
  }

  /** Calls of the same tenant, priority and bucket that are here. */
  here(job: Job): number {
    return this.#full.here(flowOf(job));
  }

  stats(): FullLanesStats {
    return this.#full.stats(this.#parts.clock.now());
  }

  #left(job: Job): void {
    job.awayMs = undefined;
    this.#leaving--;
  }

  /** In how long the call of its key is back that goes before it; 0: nobody has looked yet whether there is one. */
  #behindMs(job: Job): number | undefined {
    const { clock, lines } = this.#parts;
    if (job.orderingKey === undefined) return undefined;
    if (this.isEarly(job)) return 1;
    if (lines.of(job.received.partition) === undefined) return 0;
    const awaited = lines.awaited(job);
    return awaited && Math.max(1, lines.dueMs(awaited) - clock.now());
  }

  #mayLeave(job: Job, nowMs: number): boolean {
    const { lines, sink, laneItems } = this.#parts;
    if (isCancelled(job) || !job.fitsOutside || !lines.mayLeave(job)) return false;
    if (this.#leaving >= laneItems * shareOfLeaving) return false;
    if (written.some((topic) => sink.trouble(topic) !== undefined)) return false;
    if (job.attemptsMade > 0 || (job.longWait?.untilMs ?? 0) > nowMs) return false;
    return job.orderingKey === undefined || lines.calls < mostParked;
  }
}

/** Who is kept apart from whom: a tenant's calls of one priority at one bucket. */
function flowOf({ call, destination, plan }: Job): string {
  const { app = '', tenant = '', priority = 'normal' } = call;
  return `${priority} ${app}/${tenant} ${destination.name} ${plan.limits[0]?.key ?? plan.breakerKey}`;
}

function allowedPerSecond({ plan: { limits } }: Job): number | undefined {
  const windows = limits[0]?.windows ?? [];
  if (windows.length === 0) return undefined;
  return Math.min(...windows.map(({ limit, windowMs }) => (limit * 1_000) / windowMs));
}
