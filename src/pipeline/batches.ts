import { Observable } from 'rxjs';

import type { FairLanes } from '../operators/lanes/fair-lanes.ts';
import { Wagons } from '../operators/limit/wagons.ts';
import type { Clock, Timers } from '../ports/clock.ts';
import type { BatchForm } from '../ports/profile.ts';

import type { Attempted, Decoded, Job } from './job.ts';
import { batchRoom, limitRoom } from './rooms.ts';

/** What a rider brings home: its part of the answer, and how the attempt was made. */
export type Ridden = Omit<Attempted, 'kind' | 'job' | 'turn'>;

// A claim in Redis takes a few milliseconds; a start that was granted ahead lives for 20.
const boardingMs = 10;
// From so many on, rooms of one bucket in which nobody waits any more are forgotten, and starts that are over.
const mostKept = 1_000;

/**
 * Calls that wait for the same quota go in one request where their API has one that gives many. Each keeps its turn, its
 * claim and its lane; only the start is shared. A call that may start leads; others of its shape that would have to wait take
 * the seats beside it. Where there is quota for all nobody rides, and nobody waits for anybody.
 */
export class Batches {
  readonly #lanes: () => FairLanes<Decoded>;
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #wagons = new Wagons<Job>();
  readonly #riders = new Map<Job, (ridden: Ridden | undefined) => void>();
  readonly #leaders = new Map<Job, () => void>();
  /** Leaders for whose seats somebody was called. */
  readonly #awaited = new WeakSet<Job>();
  /** Per room of a bucket those of its shapes, because calls of one shape must not stand behind others. */
  readonly #rooms = new Map<string, Map<string, string>>();

  /** Per shape the next start that one of its calls has ahead. */
  readonly #starts = new Map<string, { readonly job: Job; readonly atMs: number }>();

  constructor(lanes: () => FairLanes<Decoded>, clock: Clock, timers: Timers) {
    this.#lanes = lanes;
    this.#clock = clock;
    this.#timers = timers;
  }

  /** Shapes with a start that is known to be ahead; those that are over stay among them until there are many. */
  get starts(): number {
    return this.#starts.size;
  }

  /**
   * Whether a call leads or rides now, or until when it waits. Who has to wait for quota, or has waited, rides where there is
   * a seat; while another of its shape has a start of its own ahead it waits for that one, which comes before any that it
   * could get itself.
   * @param atMs from when on its quota lets it start
   */
  seatOf(job: Job, { shape }: BatchForm, atMs: number, nowMs: number): 'lead' | 'ride' | number {
    const isShort = atMs > nowMs || (job.waitingFor === 'rate-limit' && !job.appointed);
    if (isShort && this.#wagons.hasSeat(shape)) return 'ride';
    if (atMs > nowMs) return atMs;
    if (job.appointed) return 'lead';
    const next = this.#starts.get(shape);
    if (next === undefined) return 'lead';
    if (next.atMs > nowMs && !next.job.over) return next.atMs;
    this.#starts.delete(shape);
    return 'lead';
  }

  /** A call was told a start of its own at that time. */
  appointed(job: Job, atMs: number): void {
    const { batch } = job.plan;
    if (batch === undefined || job.alone) return;
    if (this.#starts.size >= mostKept) this.#forgetPast();
    const known = this.#starts.get(batch.shape);
    if (known === undefined || known.atMs > atMs || known.atMs <= this.#clock.now())
      this.#starts.set(batch.shape, { job, atMs });
  }

  /** The room in which a call of that shape waits for that bucket. */
  roomOf({ destination: { name } }: Job, { shape }: BatchForm, key: string): string {
    const bucket = limitRoom(name, key);
    let rooms = this.#rooms.get(bucket);
    if (rooms === undefined) this.#rooms.set(bucket, (rooms = new Map<string, string>()));
    let room = rooms.get(shape);
    if (room === undefined) {
      if (rooms.size >= mostKept) this.#forgetEmpty(rooms);
      rooms.set(shape, (room = batchRoom(name, key, shape)));
    }
    return room;
  }

  /** There may be room in the bucket of that room. */
  wake(bucketRoom: string): void {
    for (const room of this.#rooms.get(bucketRoom)?.values() ?? []) this.#lanes().wake(room);
  }

  /** A call has its turn: it leads, or takes its seat. */
  begins(job: Job): void {
    const { batch, limits } = job.plan;
    if (job.seat === 'none' || batch === undefined) return;
    if (job.seat === 'ride') {
      this.#wagons.take(job, batch.shape);
      return;
    }
    this.#wagons.lead(job, batch.shape, batch.most);
    if (this.#starts.get(batch.shape)?.job === job) this.#starts.delete(batch.shape);
    for (const { key } of limits) {
      const room = this.#rooms.get(limitRoom(job.destination.name, key))?.get(batch.shape);
      if (room === undefined || this.#lanes().roomStats(room) === undefined) continue;
      this.#awaited.add(job);
      this.#lanes().wake(room);
    }
  }

  /**
   * Emits once: those who ride with this one are here, or have missed it after 10 ms. `undefined`: nobody rides, so there is
   * nothing to wait for.
   */
  boarding(leader: Job): Observable<true> | undefined {
    if (!this.#awaited.has(leader) && !this.#wagons.hasRiders(leader)) return undefined;
    return new Observable((subscriber) => {
      let called = false;
      const go = (): void => {
        subscriber.next(true);
        subscriber.complete();
      };
      const look = (): void => {
        if (called && this.#wagons.complete(leader)) go();
      };
      this.#leaders.set(leader, look);
      subscriber.add(() => void this.#leaders.delete(leader));
      // Those who were called get their turns first.
      subscriber.add(
        this.#timers.after(0, () => {
          called = true;
          look();
        }),
      );
      subscriber.add(this.#timers.after(boardingMs, go));
    });
  }

  /** Emits once what came of it; `undefined`: it was not sent, or not answered, and waits for its turn again. */
  ride(rider: Job): Observable<Ridden | undefined> {
    return new Observable((subscriber) => {
      // Coming home it may be on its next ride before this one has ended.
      const off = (): void => {
        if (this.#riders.get(rider) === home) this.#riders.delete(rider);
      };
      const home = (ridden: Ridden | undefined): void => {
        off();
        subscriber.next(ridden);
        subscriber.complete();
      };
      const leader = this.#wagons.board(rider);
      if (leader === undefined) {
        home(undefined);
        return undefined;
      }
      this.#riders.set(rider, home);
      this.#leaders.get(leader)?.();
      return off;
    });
  }

  /** The leader is sent now. Returns who can be sent with it; each of them must come {@link home}. */
  depart(leader: Job): Job[] {
    return this.#wagons.depart(leader).filter((rider) => this.#riders.has(rider));
  }

  /** A rider comes home. */
  home(rider: Job, ridden: Ridden | undefined): void {
    this.#riders.get(rider)?.(ridden);
  }

  /** A call gave its turn back or has ended. */
  left(job: Job): void {
    job.seat = 'none';
    this.goesAlone(job);
  }

  /** It may take long before this one is sent, if at all: who was to ride with it waits for another. */
  goesAlone(job: Job): void {
    for (const rider of this.#wagons.gone(job)) this.home(rider, undefined);
  }

  #forgetPast(): void {
    const nowMs = this.#clock.now();
    for (const [shape, { job, atMs }] of this.#starts) if (job.over || atMs <= nowMs) this.#starts.delete(shape);
  }

  #forgetEmpty(rooms: Map<string, string>): void {
    for (const [shape, room] of rooms) if (this.#lanes().roomStats(room) === undefined) rooms.delete(shape);
  }
}
