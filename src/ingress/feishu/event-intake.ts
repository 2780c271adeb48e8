import {
  defer,
  filter,
  finalize,
  ignoreElements,
  map,
  merge,
  mergeMap,
  type Observable,
  of,
  repeat,
  ReplaySubject,
  share,
  take,
} from 'rxjs';

import { eventName } from '../../model/event.ts';
import { type OutRecord, sizeOf } from '../../model/record.ts';
import { after } from '../../operators/interop/after.ts';
import { everLessOften } from '../../operators/interop/ever-less-often.ts';
import type { Claim, ClaimReply, ClaimStore } from '../../ports/claim-store.ts';
import type { Clock, Timers } from '../../ports/clock.ts';
import type { Position, RecordFinder } from '../../ports/record-finder.ts';
import type { RecordSink } from '../../ports/record-sink.ts';

/** What became of an event. */
export type Taken =
  /** It stands on `events` now; or did before. */
  | 'stored'
  | 'duplicate'
  /** It does not, or nobody knows yet: it must be delivered again. */
  | 'busy'
  | 'late'
  /** It never will. */
  | 'too-large';

/** The right to put an event on `events`; without a claim when the store gives none any more. */
interface Grant {
  readonly claim: Claim | undefined;
  /** Since somebody first may have put it there, milliseconds; `undefined`: nobody has. */
  readonly triedAgoMs: number | undefined;
}

/** What the intake works with. */
export interface EventIntakeParts {
  readonly sink: RecordSink;
  readonly claims: ClaimStore;
  readonly finder: RecordFinder;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Names this process among all; claims carry it. */
  readonly process: string;
}

/** What may be set for the intake of events. */
export interface EventIntakeOptions {
  /** How long an event is known, milliseconds. Longer than Feishu redelivers (7.1 h). */
  readonly dedupeMs: number;
  /** How long a delivery waits for the event to be durable, milliseconds: Feishu waits 3 s. */
  readonly patienceMs: number;
  /** Events not yet durable; a further one is refused at once. */
  readonly maxHeld: number;
  /** The same in bytes. */
  readonly maxHeldBytes: number;
}

// Shorter than Feishu's first redelivery after 15 s, so that what a crashed process held is taken then.
const leaseMs = 10_000;
const renewMs = 3_000;
// Records carry the clock of who wrote them.
const clockSkewMs = 60_000;

/**
 * Puts each event on `events` once, however often and at however many processes it is delivered.
 *
 * An event is claimed, produced, and only then marked as done; a delivery is answered after that. So a process that dies
 * in between leaves an open claim, which ends with its lease: the next delivery looks whether the event stands on the topic,
 * and begins anew when it does not. While the claim is held, the
 * same event is not begun a second time: a delivery of it waits for the first one, here and in other processes. A write
 * that outlasts the patience of its delivery goes on and keeps its claim; the redelivery finds it done.
 */
export class EventIntake {
  readonly #parts: EventIntakeParts;
  readonly #options: EventIntakeOptions;
  readonly #underWay = new Map<string, Observable<Taken>>();
  #heldBytes = 0;
  #deliveries = 0;

  constructor(parts: EventIntakeParts, options: EventIntakeOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  /** Events that are not yet durable. */
  get held(): number {
    return this.#underWay.size;
  }

  /** Their bytes. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /**
   * Takes one delivery. Emits once within `patienceMs`, then completes. Unsubscribing drops interest; what is claimed is
   * carried through.
   * @param key names the event over all apps, tenants and types
   */
  take(key: string, record: OutRecord): Observable<Taken> {
    return defer((): Observable<Taken> => {
      const running$ = this.#underWay.get(key);
      if (running$ !== undefined) {
        const joined$ = running$.pipe(map((taken) => (taken === 'stored' ? 'duplicate' : taken)));
        return merge(joined$, this.#late()).pipe(take(1));
      }
      const bytes = sizeOf(record);
      if (this.held >= this.#options.maxHeld || this.#heldBytes + bytes > this.#options.maxHeldBytes) return of('busy');
      return merge(this.#begin(key, record, bytes), this.#late()).pipe(take(1));
    });
  }

  #begin(key: string, record: OutRecord, bytes: number): Observable<Taken> {
    this.#heldBytes += bytes;
    const work$ = this.#claimed(key).pipe(
      mergeMap((reply) => (typeof reply === 'string' ? of(reply) : this.#carryThrough(record, reply))),
      finalize(() => {
        this.#underWay.delete(key);
        this.#heldBytes -= bytes;
      }),
      share({ connector: () => new ReplaySubject<Taken>(1), resetOnRefCountZero: false }),
    );
    this.#underWay.set(key, work$);
    return work$;
  }

  /** The claim, or why there is none. Gives up when the delivery does: then nothing has begun. */
  #claimed(key: string): Observable<Taken | Grant> {
    const { dedupeMs } = this.#options;
    const { claims, timers, process } = this.#parts;
    const origin = `${process}/${this.#deliveries++}`;
    const asked$ = defer(() => claims.claim({ id: key, origin, leaseMs, ttlMs: dedupeMs, sent: true })).pipe(
      map((reply) => outcomeOf(key, reply, dedupeMs)),
      // Of another process that is at it: asked again until it has ended, or the delivery has.
      repeat(everLessOften(timers)),
      filter((outcome) => outcome !== undefined),
    );
    return merge(asked$, this.#late()).pipe(take(1));
  }

  #carryThrough(record: OutRecord, { claim, triedAgoMs }: Grant): Observable<Taken> {
    const stored$ = this.#found(record, triedAgoMs).pipe(
      mergeMap((found) =>
        found === undefined ? this.#produce(record, claim) : this.#end(claim, 'duplicate', record, found),
      ),
    );
    if (claim === undefined) return stored$;
    return merge(stored$, this.#renewals(claim)).pipe(take(1));
  }

  /** Where the event stands already, because a process put it there and died before it could say so. */
  #found({ topic, key, headers }: OutRecord, triedAgoMs: number | undefined): Observable<Position | undefined> {
    const name = eventName(headers);
    if (triedAgoMs === undefined || key === null || name === undefined) return of(undefined);
    const { finder, clock } = this.#parts;
    return finder.find({ topic, key, name, sinceMs: clock.wall() - triedAgoMs - clockSkewMs });
  }

  #produce(record: OutRecord, claim: Claim | undefined): Observable<Taken> {
    return this.#parts.sink
      .append(record)
      .pipe(
        mergeMap((ack) =>
          ack.kind === 'written'
            ? this.#end(claim, 'stored', record, ack)
            : this.#end(claim, 'too-large', record, undefined),
        ),
      );
  }

  #end(claim: Claim | undefined, taken: Taken, { topic }: OutRecord, at: Position | undefined): Observable<Taken> {
    if (claim === undefined) return of(taken);
    const state = at === undefined ? 'FAILED' : 'PROCESSED';
    const result = at === undefined ? '' : `${topic}/${at.partition}/${at.offset}`;
    const finish = { claim, state, result, delayMs: 0, ttlMs: this.#options.dedupeMs } as const;
    return this.#parts.claims.finish(finish).pipe(map(() => taken));
  }

  /** Keeps the lease until unsubscribed; emits nothing. */
  #renewals(claim: Claim): Observable<never> {
    return after(this.#parts.timers, renewMs).pipe(
      mergeMap(() => this.#parts.claims.extend([claim], leaseMs)),
      repeat(),
      ignoreElements(),
    );
  }

  #late(): Observable<'late'> {
    return after(this.#parts.timers, this.#options.patienceMs).pipe(map(() => 'late'));
  }
}

/** What a reply means for a delivery; `undefined`: somebody else is at it. */
function outcomeOf(id: string, reply: ClaimReply, dedupeMs: number): Taken | Grant | undefined {
  switch (reply.kind) {
    case 'granted':
      return { claim: { id, fence: reply.fence }, triedAgoMs: reply.firstSentAgoMs };
    case 'processed':
      return 'duplicate';
    case 'pending':
    case 'not-due':
      return undefined;
    case 'dead':
      // So many processes died with it that the store grants it to nobody. An event is never given up.
      return { claim: undefined, triedAgoMs: dedupeMs };
  }
}
