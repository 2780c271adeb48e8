import { type Observable, of, Subject, take } from 'rxjs';

import type { FairLanes } from '../operators/lanes/fair-lanes.ts';
import type { Place } from '../operators/lanes/lane.ts';

import type { Decoded, Job, Scheduled } from './job.ts';
import { leavingRoom } from './rooms.ts';

// Who leaves needs a turn until its record is written. While that takes long, others go on.
const shareOfLeaving = 0.25;

/** What a call takes with its turn and gives back exactly once: a place at its upstream's door and a promise of quota. */
export class Turns {
  readonly #lanes: FairLanes<Decoded>;
  readonly #returned: (job: Job) => void;
  readonly #gaveUpSeat: (job: Job) => void;
  readonly #taken = new Map<string, number>();
  readonly #idle$ = new Subject<void>();
  readonly #mostLeaving: number;
  readonly #leaving = new Set<Job>();

  /**
   * @param maxInTurn turns out at once
   * @param returned told of each call that went back to its lane
   * @param gaveUpSeat told of each call that could go with others, when its turn is over
   */
  constructor(
    lanes: FairLanes<Decoded>,
    maxInTurn: number,
    returned: (job: Job) => void = () => undefined,
    gaveUpSeat: (job: Job) => void = () => undefined,
  ) {
    this.#lanes = lanes;
    this.#returned = returned;
    this.#gaveUpSeat = gaveUpSeat;
    this.#mostLeaving = Math.max(1, Math.floor(maxInTurn * shareOfLeaving));
  }

  /** Whether one more may have a turn only to leave because its lane is full. */
  get mayLeave(): boolean {
    return this.#leaving.size < this.#mostLeaving;
  }

  /** The lane let the call through. */
  begin(job: Job): void {
    job.underWay = true;
    if (job.awayMs !== undefined) this.#leaving.add(job);
    // Who rides takes neither slot nor quota: who leads has both.
    if (job.needsNothing || job.seat === 'ride') return;
    // Who comes only to end, because it is too late, is let through beyond the places.
    job.door.placed = job.destination.working.tryAcquire();
    job.destination.limiter.promise(job.plan.limits);
    job.door.here = true;
    job.door.promised = true;
    for (const { room } of job.shares) this.#taken.set(room, (this.#taken.get(room) ?? 0) + 1);
  }

  /** The promised quota was taken: it must not count twice. */
  granted(job: Job): void {
    if (!job.door.promised) return;
    job.door.promised = false;
    job.destination.limiter.unpromise(job.plan.limits);
  }

  /** The attempt is over, or none will be made on this turn: the next call of that upstream may come to the door. */
  leaveDoor(job: Job): void {
    const { door } = job;
    door.left?.();
    door.left = undefined;
    if (job.seat !== 'none') this.#gaveUpSeat(job);
    if (!door.here) return;
    door.here = false;
    this.granted(job);
    if (door.placed) job.destination.working.release();
    door.placed = false;
    this.#lanes.wake(job.rooms.slots);
    for (const { room } of job.shares) {
      const left = (this.#taken.get(room) ?? 1) - 1;
      if (left > 0) this.#taken.set(room, left);
      else this.#taken.delete(room);
      this.#lanes.wake(room);
    }
  }

  /** The room in which a call must wait because its bucket or its resource is taken, else `undefined`. */
  full(job: Job): string | undefined {
    return job.shares.find(({ room, limit }) => (this.#taken.get(room) ?? 0) >= limit)?.room;
  }

  /** The call returns to the front of its lane and is looked at again at `notBeforeMs`. */
  back(job: Job, turn: Scheduled, notBeforeMs: number): void {
    job.underWay = false;
    this.leaveDoor(job);
    this.#hasLeft(job);
    turn.again(notBeforeMs, job.appointed, job.waitingFor === 'order');
    this.#returned(job);
    this.#tellIdle();
  }

  /** A record that is no call is looked at again at `notBeforeMs`. */
  later(turn: Scheduled, notBeforeMs: number): void {
    turn.again(notBeforeMs);
    this.#tellIdle();
  }

  /** The call was to leave because its lane is full, and goes into that lane after all. */
  stay(job: Job, turn: Scheduled, place: Place): void {
    job.underWay = false;
    this.#hasLeft(job);
    turn.join(place);
    this.#returned(job);
    this.#tellIdle();
  }

  /** The record has reached its end: its lane goes on. */
  end(item: Decoded, turn: Scheduled): void {
    if (item.kind === 'call') {
      item.underWay = false;
      this.leaveDoor(item);
      this.#hasLeft(item);
    }
    turn.done();
    this.#tellIdle();
  }

  /** Emits once, when no record is under way. */
  idle(): Observable<void> {
    return this.#lanes.inTurn === 0 ? of(undefined) : this.#idle$.pipe(take(1));
  }

  #hasLeft(job: Job): void {
    if (this.#leaving.delete(job)) this.#lanes.wake(leavingRoom);
  }

  #tellIdle(): void {
    if (this.#lanes.inTurn === 0) this.#idle$.next();
  }
}
