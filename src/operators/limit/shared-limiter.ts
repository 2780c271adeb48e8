import type { Observable } from 'rxjs';

import type { Clock } from '../../ports/clock.ts';
import type { LimitKey } from '../../ports/profile.ts';
import type { BucketView, QuotaAnswer, QuotaLog, QuotaReply } from '../../ports/quota-log.ts';

import { BucketTable, type BucketUse } from './bucket-table.ts';
import type { Bucket } from './bucket.ts';
import { ClockOffset } from './clock-offset.ts';
import { CoolDowns } from './cool-down.ts';
import { Hands } from './hands.ts';
import { defaultStretchMs, type SharedLimiterOptions, type SharedLimiterSnapshot } from './options.ts';
import type { Outage } from './shadow-log.ts';
import { Split } from './split.ts';
import type { Learned } from './starts-in-hand.ts';
import { type Earliest, type Grant, isUnlimited, narrowestKey, type Taken } from './taken.ts';

const askLog = { kind: 'log' } as const;

/**
 * Exact limits over all replicas. A call starts when all of its buckets grant it. The shared log is asked for many calls
 * together; where there are more calls than starts it grants starts ahead, each with its time, and the call comes back at
 * that time. `earliestMs` tells beforehand from when on a call is worth looking at, so waiting is scheduled and costs
 * nothing. While the log is away {@link Split} holds.
 *
 * Decides in plain steps; the only timers give back starts that nobody used. Memory is bounded by `maxBuckets` plus the
 * buckets used within their longest window. Times are monotonic milliseconds.
 */
export class SharedLimiter {
  readonly #log: QuotaLog;
  readonly #lifeMs: number;
  readonly #clock: Clock;
  readonly #buckets: BucketTable;
  readonly #coolDowns: CoolDowns;
  readonly #split: Split;
  readonly #hands: Hands;
  readonly #offset = new ClockOffset();
  #promised = 0;
  #grants = 0;
  #refusals = 0;
  #wake: (key: string) => void = () => undefined;

  constructor(options: SharedLimiterOptions) {
    const { log, clock, timers, stretchMs = defaultStretchMs, lifeMs = 20, maxBuckets = 10_000 } = options;
    this.#log = log;
    this.#clock = clock;
    this.#lifeMs = lifeMs;
    this.#buckets = new BucketTable(stretchMs, maxBuckets);
    this.#coolDowns = new CoolDowns(maxBuckets);
    this.#split = new Split(log, this.#buckets);
    this.#hands = new Hands(maxBuckets, {
      ...{ log, clock, timers, lifeMs },
      start: (limits, grant) => this.#start(limits, grant, clock.now()),
      learn: (limits, reply, askedMs) => this.#replied(limits, reply, askedMs),
      patienceMs: (limits) => this.#buckets.patienceMs(limits, clock.now()),
    });
    log.onRest?.((key, restMs) => this.#rests(key, this.#clock.now() + restMs));
  }

  /** Sets who is told the key of a bucket for which it is worth asking again before the time that was named. */
  onRoom(wake: (key: string) => void): void {
    this.#wake = wake;
  }

  /**
   * From when on a call is worth letting through, given what is promised, and the key that decides it. `atMs` is `nowMs`
   * when it is worth it now; for calls without limits `key` is `''`.
   * @param appointed an ask told it a start of its own
   */
  earliestMs(limits: readonly LimitKey[], nowMs: number, appointed = false): Earliest {
    let earliest: Earliest = { atMs: nowMs, key: limits[0]?.key ?? '' };
    for (const { key } of limits) {
      if (this.#coolDowns.untilMs(key, nowMs) > earliest.atMs)
        earliest = { atMs: this.#coolDowns.untilMs(key, nowMs), key };
    }
    const startMs = this.#hands.nextMs(limits, appointed);
    if (startMs !== undefined) return startMs > earliest.atMs ? { atMs: startMs, key: narrowestKey(limits) } : earliest;
    const outage = this.#split.outage(nowMs);
    for (const limit of limits) {
      if (limit.windows.length === 0) continue;
      const atMs = this.#askAtMs(this.#buckets.of(limit, nowMs), nowMs, outage);
      if (atMs > earliest.atMs) earliest = { atMs, key: limit.key };
    }
    return earliest;
  }

  /** Counts one call as on its way to `take`, so that no later one is offered its place. */
  promise(limits: readonly LimitKey[]): void {
    this.#promised += 1;
    if (isUnlimited(limits)) return;
    this.#hands.promise(limits);
    for (const limit of limits) {
      if (limit.windows.length > 0) this.#buckets.of(limit, this.#clock.now()).promised += 1;
    }
  }

  /** Ends a promise, after `take` or when the call goes elsewhere. */
  unpromise(limits: readonly LimitKey[]): void {
    this.#promised = Math.max(0, this.#promised - 1);
    if (isUnlimited(limits)) return;
    this.#hands.unpromise(limits);
    for (const { key } of limits) {
      const bucket = this.#buckets.get(key);
      if (bucket === undefined) continue;
      bucket.promised = Math.max(0, bucket.promised - 1);
      if (!bucket.held) continue;
      bucket.held = false;
      this.#wake(key);
    }
  }

  /** A start now, if it is known here whether there is one. */
  take(limits: readonly LimitKey[], nowMs: number, appointed = false): Taken {
    for (const { key } of limits) {
      const untilMs = this.#coolDowns.untilMs(key, nowMs);
      if (untilMs > nowMs) return this.#refuse(untilMs, key);
    }
    if (isUnlimited(limits)) return { kind: 'granted', grant: { atMs: nowMs, stamp: undefined } };
    const grant = this.#hands.take(limits, nowMs, appointed);
    if (grant !== undefined) return { kind: 'granted', grant };
    return this.#takeSplit(limits, nowMs, this.#split.outage(nowMs));
  }

  /**
   * Asks the log: emits `granted` or `wait`, once. Unsubscribing leaves the queue; what comes for it goes to another or
   * is given back.
   */
  ask(limits: readonly LimitKey[]): Observable<Taken> {
    return this.#hands.of(limits).ask();
  }

  /** Gives back the start of a call that was not sent. */
  giveBack(limits: readonly LimitKey[], { atMs, stamp }: Grant): void {
    if (isUnlimited(limits)) return;
    for (const { key } of limits) this.#buckets.get(key)?.shadow.forget(atMs);
    this.#grants -= 1;
    if (stamp !== undefined) this.#log.giveBack(limits, [stamp]);
  }

  /**
   * The upstream refused: nothing starts in that bucket before the rest is over, here at once, on all replicas as soon as
   * they hear of it. Only ever extended. Returns whether it was, by more than refusals of one moment differ.
   * @param startedMs when the call started that was refused
   */
  refused(limit: LimitKey, restMs: number, nowMs: number, startedMs = nowMs): boolean {
    const known = this.#coolDowns.untilMs(limit.key, nowMs);
    this.#rests(limit.key, nowMs + restMs);
    this.#log.refused({ limit, coolMs: restMs, agoMs: nowMs - startedMs }).subscribe({
      next: (view) => this.#learnBucket(limit, view, this.#clock.now()),
      // The port does not error; this replica knows already.
      error: () => undefined,
    });
    return nowMs + restMs > known + 1_000;
  }

  /** What it shows of itself at `nowMs`. */
  snapshot(nowMs: number): SharedLimiterSnapshot {
    return {
      keys: this.#buckets.size,
      cooling: this.#coolDowns.active(nowMs),
      promised: this.#promised,
      grants: this.#grants,
      refusals: this.#refusals,
      splitAmong: this.#split.replicas,
    };
  }

  /** How full its buckets are, by their names for metrics. */
  uses(nowMs: number): readonly BucketUse[] {
    return this.#buckets.uses(nowMs);
  }

  #askAtMs(bucket: Bucket, nowMs: number, outage: Outage | undefined): number {
    let atMs = Math.max(nowMs, bucket.askAtMs);
    if (outage !== undefined && !bucket.outlived(outage, nowMs)) {
      const splitMs = bucket.splitFreeAtMs(nowMs, outage, bucket.promised);
      if (outage.backMs === undefined) return splitMs;
      atMs = Math.max(atMs, splitMs);
    }
    if (atMs > nowMs || bucket.promised < bucket.fairShare(this.#log.fleet().replicas)) return atMs;
    return bucket.hold(nowMs);
  }

  #takeSplit(limits: readonly LimitKey[], nowMs: number, outage: Outage | undefined): Taken {
    const ruling = outage === undefined ? askLog : this.#split.rule(limits, nowMs, outage);
    if (ruling.kind === 'wait') return this.#refuse(ruling.untilMs, ruling.key);
    if (ruling.kind === 'here') {
      return { kind: 'granted', grant: this.#start(limits, { atMs: nowMs, stamp: undefined }, nowMs) };
    }
    // What the log has said is not asked again: where callers come one by one, each would cost a round trip.
    const { atMs, key } = this.#buckets.worthAsking(limits, nowMs);
    return atMs > nowMs ? this.#refuse(atMs, key) : { kind: 'ask' };
  }

  #replied(limits: readonly LimitKey[], reply: QuotaReply, askedMs: number): Learned {
    const nowMs = this.#clock.now();
    if (reply.kind === 'answer') return this.#learn(limits, reply, askedMs, nowMs);
    const outage = this.#split.begin(nowMs);
    // What they hold the others may count as theirs.
    this.#hands.forgetAll();
    // Each start is decided on its own: here nobody has counted for all of them.
    return { starts: [], others: () => this.#takeSplit(limits, nowMs, outage) };
  }

  /** Takes in what the log said. Starts in a bucket that rests by now go back. */
  #learn(limits: readonly LimitKey[], answer: QuotaAnswer, askedMs: number, nowMs: number): Learned {
    this.#offset.heard(askedMs, nowMs, answer.logMs);
    const ours = (inMs: number): number => this.#offset.ours(answer.logMs + inMs);
    for (const [index, limit] of limits.entries()) {
      const view = answer.buckets[index];
      if (view !== undefined) this.#learnBucket(limit, view, nowMs);
    }
    const deciding = limits.find(({ key, windows }) => key === answer.key && windows.length > 0);
    if (deciding !== undefined) {
      const canBook = deciding === limits[0];
      this.#buckets
        .of(deciding, nowMs)
        .nextAt(ours(answer.waitMs), canBook, this.#hands.sizeOf(deciding.key) + answer.granted, nowMs);
    }
    const { atMs: askAtMs } = this.#buckets.worthAsking(limits, nowMs);
    const waits = (untilMs: number, key: string) => (): Taken => this.#refuse(Math.max(untilMs, nowMs + 1), key);
    // While the answer was on its way an attempt of ours may have been refused.
    for (const { key } of limits) {
      const untilMs = this.#coolDowns.untilMs(key, nowMs);
      if (untilMs <= nowMs) continue;
      this.#log.giveBack(limits, answer.stamps);
      return { starts: [], others: waits(untilMs, key) };
    }
    const starts = answer.stamps.map((stamp, index) => ({ stamp, atMs: ours(answer.inMs[index] ?? 0) }));
    return { starts, others: starts.length > 0 && askAtMs <= nowMs ? undefined : waits(askAtMs, answer.key) };
  }

  #learnBucket(limit: LimitKey, view: BucketView, nowMs: number): void {
    if (view.coolMs > 0) this.#rests(limit.key, nowMs + view.coolMs);
    if (limit.windows.length > 0) this.#buckets.of(limit, nowMs).learn(view, nowMs);
  }

  /** A bucket rests: what was granted in it before must not be used. */
  #rests(key: string, untilMs: number): void {
    this.#coolDowns.hold(key, untilMs);
    this.#hands.giveBack(key);
  }

  /** A start is made now: this process notes it, and tells the log when that is much later than the log has it. */
  #start(limits: readonly LimitKey[], { atMs, stamp }: Grant, nowMs: number): Grant {
    for (const limit of limits) if (limit.windows.length > 0) this.#buckets.of(limit, nowMs).shadow.note(nowMs);
    this.#grants += 1;
    if (stamp === undefined || nowMs <= atMs + this.#lifeMs) return { atMs: nowMs, stamp };
    this.#log.giveBack(limits, [stamp]);
    for (const limit of limits) if (limit.windows.length > 0) this.#log.record(limit, [0]);
    return { atMs: nowMs, stamp: undefined };
  }

  #refuse(untilMs: number, key: string): Taken {
    this.#refusals += 1;
    return { kind: 'wait', untilMs, key };
  }
}
