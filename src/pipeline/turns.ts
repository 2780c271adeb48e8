import { type Observable, of, Subject, take } from 'rxjs';

import type { FairLanes } from '../operators/lanes/fair-lanes.ts';

import type { Decoded, Job, Scheduled } from './job.ts';

/** Room in which the lanes of an upstream wait for one of its slots. */
export const slotsRoom = (destination: string): string => `slots:${destination}`;

/** Room in which lanes wait for an open breaker. */
export const breakerRoom = (destination: string, key: string): string => `breaker:${destination}:${key}`;

/** Room in which lanes wait for quota. */
export const limitRoom = (destination: string, key: string): string => `limit:${destination}:${key}`;

/** A place that a call needs beside its upstream's: in its quota bucket, or at a resource that takes one call at a time. */
interface Share {
  readonly room: string;
  readonly limit: number;
}

function sharesOf({ destination, plan }: Job): Share[] {
  const shares: Share[] = [];
  const bucket = plan.limits[0];
  if (bucket !== undefined) shares.push({ room: `bucket:${bucket.key}`, limit: destination.bucketLimit });
  if (plan.serial !== undefined) shares.push({ room: `serial:${plan.serial}`, limit: 1 });
  return shares;
}

/** What a call takes with its turn and gives back exactly once: a place at its upstream's door and a promise of quota. */
export class Turns {
  readonly #lanes: FairLanes<Decoded>;
  readonly #atDoor = new Set<Job>();
  readonly #taken = new Map<string, number>();
  readonly #idle$ = new Subject<void>();

  constructor(lanes: FairLanes<Decoded>) {
    this.#lanes = lanes;
  }

  /** The lane let the call through. */
  begin(job: Job): void {
    job.underWay = true;
    job.destination.working.tryAcquire();
    job.destination.limiter.promise(job.plan.limits);
    this.#atDoor.add(job);
    for (const { room } of sharesOf(job)) this.#taken.set(room, (this.#taken.get(room) ?? 0) + 1);
  }

  /** The attempt is over, or none will be made on this turn: the next call of that upstream may come to the door. */
  leaveDoor(job: Job): void {
    if (!this.#atDoor.delete(job)) return;
    job.destination.limiter.unpromise(job.plan.limits);
    job.destination.working.release();
    this.#lanes.wake(slotsRoom(job.destination.name));
    for (const { room } of sharesOf(job)) {
      const left = (this.#taken.get(room) ?? 1) - 1;
      if (left > 0) this.#taken.set(room, left);
      else this.#taken.delete(room);
      this.#lanes.wake(room);
    }
  }

  /** The room in which a call must wait because its bucket or its resource is taken, else `undefined`. */
  full(job: Job): string | undefined {
    return sharesOf(job).find(({ room, limit }) => (this.#taken.get(room) ?? 0) >= limit)?.room;
  }

  /** The call returns to the front of its lane and is looked at again at `notBeforeMs`. */
  back(job: Job, turn: Scheduled, notBeforeMs: number): void {
    job.underWay = false;
    this.leaveDoor(job);
    turn.again(notBeforeMs);
    this.#tellIdle();
  }

  /** The record has reached its end: its lane goes on. */
  end(item: Decoded, turn: Scheduled): void {
    if (item.kind === 'call') {
      item.underWay = false;
      this.leaveDoor(item);
    }
    turn.done();
    this.#tellIdle();
  }

  /** Emits once, when no record is under way. */
  idle(): Observable<void> {
    return this.#lanes.inTurn === 0 ? of(undefined) : this.#idle$.pipe(take(1));
  }

  #tellIdle(): void {
    if (this.#lanes.inTurn === 0) this.#idle$.next();
  }
}
