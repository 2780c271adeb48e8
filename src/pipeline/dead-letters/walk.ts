import { Observable, type Subscriber, Subscription } from 'rxjs';

import type { InRecord } from '../../model/record.ts';
import type { Clock, Timers } from '../../ports/clock.ts';
import type { AssignedPartition, RecordSource, SourceEvent } from '../../ports/record-source.ts';

import { Pace } from './pace.ts';
import { Stretches } from './stretches.ts';

/** What a walk needs. */
export interface WalkOptions {
  /** A group of the walk's own: its commits are how it goes on after a crash. */
  readonly source: RecordSource;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Where the walk ends, by partition; one that was begun before keeps its own ends. */
  readonly ends: ReadonlyMap<number, number>;
  /** What the walk is about, in few characters without a colon; one that was begun about something else is refused. */
  readonly about: string;
  /** Why a record is passed over, or `undefined` for one to be acted on. */
  readonly passOver: (record: InRecord) => string | undefined;
  /** Emits once what came of it. Records of one partition begin in their order. */
  act(record: InRecord): Observable<string>;
  readonly perSecond: number;
  /** Emits when nothing further is to begin. */
  readonly stop$: Observable<unknown>;
}

/** How far a walk is. */
export interface WalkProgress {
  readonly state: 'running' | 'stopped' | 'finished';
  /** Records that were passed over or acted on, by why or what came of it. */
  readonly counts: Readonly<Record<string, number>>;
  /** Offsets still to be looked at. */
  readonly left: number;
}

const tickMs = 500;
const mostAtOnce = 256;
// A partition whose last records were dropped meanwhile never shows its end.
const quietMs = 30_000;
const lastCommitTries = 20;

/**
 * Walks over a topic once, from what its group has committed to the ends, and acts on the records that are chosen: in order
 * within a partition, not faster than `perSecond`, with at most 256 under way. Emits its progress twice a second and at the
 * end, then completes. Commits what is done, so that a walk after a crash goes on there; what was under way is acted on
 * once more. Errors with the source. Unsubscribing stops at once; `stop$` lets what is under way end.
 */
export function walk(options: WalkOptions): Observable<WalkProgress> {
  return new Observable((subscriber) => new Walk(options, subscriber).run());
}

class Walk {
  readonly #options: WalkOptions;
  readonly #subscriber: Subscriber<WalkProgress>;
  readonly #pace: Pace;
  readonly #stretches: Stretches;
  readonly #counts: Record<string, number> = {};
  readonly #running = new Subscription();
  #underWay = 0;
  #stopping = false;
  #ending = false;
  #committing = false;
  #pumping = false;
  #lastTries = 0;
  #lastArrivalMs: number;
  #cancelTick = (): void => undefined;
  #cancelPump: (() => void) | undefined;

  constructor(options: WalkOptions, subscriber: Subscriber<WalkProgress>) {
    this.#options = options;
    this.#subscriber = subscriber;
    this.#pace = new Pace(options.perSecond);
    this.#stretches = new Stretches(options.source, options.ends, options.about);
    this.#lastArrivalMs = options.clock.now();
  }

  run(): Subscription {
    const { source, stop$ } = this.#options;
    const fail = (error: unknown): void => this.#subscriber.error(error);
    this.#running.add(() => {
      this.#cancelTick();
      this.#cancelPump?.();
    });
    this.#running.add(source.event$.subscribe({ next: (event) => this.#guarded(() => this.#on(event)), error: fail }));
    this.#running.add(stop$.subscribe({ next: () => this.#stop(), error: fail }));
    this.#tick();
    return this.#running;
  }

  #on(event: SourceEvent): void {
    this.#lastArrivalMs = this.#options.clock.now();
    switch (event.kind) {
      case 'assigned':
        this.#stretches.open(event.partition, event.fromOffset, event.metadata);
        return;
      case 'lost':
        this.#stretches.close(event.partition);
        return;
      case 'record': {
        if (this.#stopping || !this.#stretches.take(event.partition, event.record)) return;
        const why = this.#options.passOver(event.record);
        if (why === undefined) this.#stretches.queue(event.partition, event.record);
        else this.#done(event.partition, event.record, why);
        this.#pump();
      }
    }
  }

  #pump(): void {
    // What ends at once comes back here: the loop goes round instead of deeper.
    if (this.#pumping) return;
    this.#pumping = true;
    this.#beginWhatMay();
    this.#pumping = false;
  }

  #beginWhatMay(): void {
    const { clock, timers } = this.#options;
    while (this.#underWay < mostAtOnce && this.#cancelPump === undefined && !this.#ending) {
      const nowMs = clock.now();
      const waitMs = this.#stretches.queued === 0 ? undefined : this.#pace.waitMs(nowMs);
      if (waitMs === undefined) return;
      if (waitMs > 0) {
        this.#cancelPump = timers.after(waitMs, () => {
          this.#cancelPump = undefined;
          this.#guarded(() => this.#pump());
        });
        return;
      }
      const next = this.#stretches.next();
      if (next === undefined) return;
      this.#pace.take(nowMs);
      this.#begin(next.partition, next.record);
    }
  }

  #begin(partition: AssignedPartition, record: InRecord): void {
    this.#underWay++;
    this.#running.add(
      this.#options.act(record).subscribe({
        next: (outcome) => this.#done(partition, record, outcome),
        error: (error: unknown) => this.#subscriber.error(error),
        complete: () => {
          this.#underWay--;
          this.#pump();
        },
      }),
    );
  }

  #done(partition: AssignedPartition, record: InRecord, outcome: string): void {
    this.#counts[outcome] = (this.#counts[outcome] ?? 0) + 1;
    this.#stretches.done(partition, record.offset);
  }

  #stop(): void {
    this.#stopping = true;
    this.#stretches.forget();
  }

  #tick(): void {
    this.#cancelTick = this.#options.timers.after(tickMs, () => {
      this.#tick();
      if (!this.#ending) this.#subscriber.next(this.#progress('running'));
      const quiet = this.#options.clock.now() - this.#lastArrivalMs >= quietMs && this.#stretches.allHere;
      const finished = this.#stretches.finished || (quiet && this.#stretches.queued === 0);
      this.#ending ||= (finished || this.#stopping) && this.#underWay === 0;
      this.#commit();
    });
  }

  #commit(): void {
    if (this.#committing) return;
    const commits = this.#stretches.commits();
    if (commits.length === 0) {
      if (this.#ending) this.#end();
      return;
    }
    this.#committing = true;
    this.#running.add(
      this.#options.source.commit(commits).subscribe({
        next: () => this.#stretches.stored(commits),
        error: (error: unknown) => this.#subscriber.error(error),
        complete: () => {
          this.#committing = false;
          if (!this.#ending) return;
          // What was not stored is tried again; in the end it only costs that some of it is done once more.
          if (this.#stretches.commits().length === 0 || ++this.#lastTries >= lastCommitTries) this.#end();
        },
      }),
    );
  }

  #end(): void {
    this.#subscriber.next(this.#progress(this.#stopping && !this.#stretches.finished ? 'stopped' : 'finished'));
    this.#subscriber.complete();
  }

  #progress(state: WalkProgress['state']): WalkProgress {
    return { state, counts: { ...this.#counts }, left: this.#stretches.left };
  }

  #guarded(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.#subscriber.error(error);
    }
  }
}
