import { map, type Observable } from 'rxjs';

import type { Clock } from '../../ports/clock.ts';
import type { LimitKey } from '../../ports/profile.ts';
import type { BucketView, QuotaAnswer, QuotaLog, QuotaReply } from '../../ports/quota-log.ts';

import { BucketTable, type BucketUse } from './bucket-table.ts';
import type { Bucket, Outage } from './bucket.ts';
import { CoolDowns } from './cool-down.ts';
import { Fastest } from './fastest.ts';
import { Handful, type HandfulParts } from './handful.ts';
import { defaultStretchMs, type SharedLimiterOptions, type SharedLimiterSnapshot } from './options.ts';
import { Split } from './split.ts';
import type { Grant, Taken } from './taken.ts';

const mustAsk: Taken = { kind: 'ask' };
const unlimited: Taken = { kind: 'granted', grant: { atMs: 0, stamp: undefined } };
// Longest wait of those who are woken before, when one that was let through has asked.
const wokenWithinMs = 250;

/**
 * Exact limits over all replicas. A call starts when all of its buckets grant it: from grants in hand at once, else by an
 * ask of the shared log, for many calls together. `earliestMs` tells beforehand from when on asking is worth while, so
 * waiting is scheduled and costs nothing. While the log is away {@link Split} holds.
 *
 * Decides in plain steps; the only timer gives back grants that nobody used. Memory is bounded by `maxBuckets` plus the
 * buckets used within their longest window. Times are monotonic milliseconds.
 */
export class SharedLimiter {
  readonly #log: QuotaLog;
  readonly #lifeMs: number;
  readonly #clock: Clock;
  readonly #buckets: BucketTable;
  readonly #coolDowns: CoolDowns;
  readonly #split: Split;
  readonly #handfuls = new WeakMap<Bucket, Handful>();
  readonly #handfulParts: HandfulParts;
  #promised = 0;
  #grants = 0;
  #refusals = 0;
  readonly #roundTrip = new Fastest();
  #wake: (key: string) => void = () => undefined;

  constructor(options: SharedLimiterOptions) {
    const { log, clock, timers, stretchMs = defaultStretchMs, lifeMs = 20, maxBuckets = 10_000 } = options;
    this.#log = log;
    this.#clock = clock;
    this.#lifeMs = lifeMs;
    this.#buckets = new BucketTable(stretchMs, maxBuckets);
    this.#coolDowns = new CoolDowns(maxBuckets);
    this.#split = new Split(log, this.#buckets);
    this.#handfulParts = {
      ...{ log, clock, timers, lifeMs },
      learn: (limits, reply, nowMs, askedMs) => this.#replied(limits, reply, nowMs, askedMs),
      unused: (count) => void (this.#grants -= count),
    };
  }

  /** Sets who is told the key of a bucket for which it is worth asking again before the time that was named. */
  onRoom(wake: (key: string) => void): void {
    this.#wake = wake;
  }

  /**
   * From when on it is worth asking for a start, given what is promised, and the key that decides it. `atMs` is `nowMs`
   * when it is worth it now; for calls without limits `key` is `''`.
   */
  earliestMs(limits: readonly LimitKey[], nowMs: number): { readonly atMs: number; readonly key: string } {
    let earliest = { atMs: nowMs, key: limits[0]?.key ?? '' };
    const outage = this.#split.outage(nowMs);
    for (const limit of limits) {
      let atMs = this.#coolDowns.untilMs(limit.key, nowMs);
      if (limit.windows.length > 0)
        atMs = Math.max(atMs, this.#freeAtMs(this.#buckets.of(limit, nowMs), nowMs, outage));
      if (atMs > earliest.atMs) earliest = { atMs, key: limit.key };
    }
    return earliest;
  }

  /** Counts one call as on its way to `take`, so that no later one is offered its place. */
  promise(limits: readonly LimitKey[]): void {
    for (const limit of limits) {
      if (limit.windows.length > 0) this.#buckets.of(limit, this.#clock.now()).promised += 1;
    }
    this.#promised += 1;
  }

  /** Ends a promise, after `take` or when the call goes elsewhere. */
  unpromise(limits: readonly LimitKey[]): void {
    for (const { key } of limits) {
      const bucket = this.#buckets.get(key);
      if (bucket === undefined) continue;
      bucket.promised = Math.max(0, bucket.promised - 1);
      if (!bucket.held) continue;
      bucket.held = false;
      this.#wake(key);
    }
    this.#promised = Math.max(0, this.#promised - 1);
  }

  /** A start now, if it is known here whether there is one. */
  take(limits: readonly LimitKey[], nowMs: number): Taken {
    let limited: LimitKey | undefined;
    let several = false;
    for (const limit of limits) {
      const untilMs = this.#coolDowns.untilMs(limit.key, nowMs);
      if (untilMs > nowMs) return this.#refuse(untilMs, limit.key);
      if (limit.windows.length === 0) continue;
      several = limited !== undefined;
      limited ??= limit;
    }
    if (limited === undefined) return unlimited;
    if (this.#log.takeNow !== undefined) return this.#learn(limits, this.#log.takeNow(limits), nowMs);
    const outage = this.#split.outage(nowMs);
    if (outage !== undefined) return this.#takeSplit(limits, nowMs, outage);
    const grant = several ? undefined : this.#handfuls.get(this.#buckets.of(limited, nowMs))?.take(nowMs);
    return grant === undefined ? mustAsk : { kind: 'granted', grant };
  }

  /**
   * Asks the log: emits `granted` or `wait`, once. Unsubscribing leaves the queue; what comes for it goes to another or
   * is given back.
   */
  ask(limits: readonly LimitKey[]): Observable<Taken> {
    const limited = limits.filter(({ windows }) => windows.length > 0);
    const [only] = limited;
    const askedMs = this.#clock.now();
    if (only !== undefined && limited.length === 1) {
      const bucket = this.#buckets.of(only, askedMs);
      const handful = this.#handfuls.get(bucket) ?? new Handful(bucket, this.#handfulParts);
      this.#handfuls.set(bucket, handful);
      return handful.ask(limits);
    }
    const patienceMs = Math.max(...limited.map((limit) => this.#buckets.of(limit, askedMs).patienceMs(askedMs)));
    const reply$ = this.#log.take({ limits, want: () => 1, patienceMs });
    return reply$.pipe(map((reply) => this.#replied(limits, reply, this.#clock.now(), askedMs)));
  }

  /** Gives back the start of a call that was not sent. */
  giveBack(limits: readonly LimitKey[], { atMs, stamp }: Grant): void {
    const limited = limits.filter(({ windows }) => windows.length > 0);
    if (limited.length === 0) return;
    for (const { key } of limited) this.#buckets.get(key)?.forget(atMs);
    this.#grants -= 1;
    if (stamp !== undefined) this.#log.giveBack(limits, stamp, 1);
  }

  /**
   * An upstream refused a start of this bucket: no replica starts one until the rest is over. A rest is only ever
   * extended. Returns whether it was, by more than refusals of one moment differ.
   */
  refused(limit: LimitKey, restMs: number, nowMs: number): boolean {
    const known = this.#coolDowns.untilMs(limit.key, nowMs);
    this.#coolDowns.hold(limit.key, nowMs + restMs);
    this.#log.refused({ limit, coolMs: restMs }).subscribe({
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

  #freeAtMs(bucket: Bucket, nowMs: number, outage: Outage | undefined): number {
    let atMs = nowMs;
    if (outage !== undefined && !bucket.outlived(outage, nowMs)) {
      atMs = bucket.splitFreeAtMs(nowMs, outage, bucket.promised);
      if (outage.backMs === undefined) return atMs;
    }
    const { replicas } = this.#log.fleet();
    atMs = Math.max(atMs, bucket.freeAtMs(nowMs, bucket.promised, replicas));
    if (atMs > nowMs || bucket.promised < bucket.fairShare(replicas)) return atMs;
    bucket.held = true;
    return nowMs + wokenWithinMs;
  }

  #takeSplit(limits: readonly LimitKey[], nowMs: number, outage: Outage): Taken {
    const ruling = this.#split.rule(limits, nowMs, outage);
    switch (ruling.kind) {
      case 'log':
        return mustAsk;
      case 'wait':
        return this.#refuse(ruling.untilMs, ruling.key);
      case 'here':
        this.#note(limits, 1, nowMs);
        return { kind: 'granted', grant: { atMs: nowMs, stamp: undefined } };
    }
  }

  #replied(limits: readonly LimitKey[], reply: QuotaReply, nowMs: number, askedMs: number): Taken {
    if (reply.kind === 'answer') return this.#learn(limits, reply, nowMs, askedMs);
    return this.#takeSplit(limits, nowMs, this.#split.begin(nowMs));
  }

  /** Takes in what the log said. Grants for a bucket that rests by now go back. */
  #learn(limits: readonly LimitKey[], answer: QuotaAnswer, nowMs: number, askedMs = nowMs): Taken {
    const tookMs = nowMs - askedMs;
    const late = tookMs > this.#roundTrip.fastestMs(nowMs, tookMs) + this.#lifeMs;
    for (const [index, limit] of limits.entries()) {
      const view = answer.buckets[index];
      if (view !== undefined) this.#learnBucket(limit, view, nowMs);
      if (limit.key === answer.key && limit.windows.length > 0) {
        this.#buckets.of(limit, nowMs).closedUntilMs = nowMs + answer.waitMs;
      }
    }
    if (answer.granted === 0) return this.#refuse(nowMs + Math.max(answer.waitMs, 1), answer.key);
    // While the answer was on its way an attempt of ours may have been refused.
    const resting = limits.find(({ key }) => this.#coolDowns.untilMs(key, nowMs) > nowMs);
    if (resting !== undefined) {
      this.#log.giveBack(limits, answer.stamp, answer.granted);
      return this.#refuse(this.#coolDowns.untilMs(resting.key, nowMs), resting.key);
    }
    this.#note(limits, answer.granted, nowMs);
    if (late) {
      // Used now, counted then: the log is told before the first of them leaves its window.
      this.#log.giveBack(limits, answer.stamp, answer.granted);
      const ago = new Array<number>(answer.granted).fill(0);
      for (const limit of limits) if (limit.windows.length > 0) this.#log.record(limit, ago);
      return { kind: 'granted', grant: { atMs: nowMs, stamp: undefined } };
    }
    return { kind: 'granted', grant: { atMs: nowMs, stamp: answer.stamp } };
  }

  #learnBucket(limit: LimitKey, view: BucketView, nowMs: number): void {
    if (view.coolMs > 0) this.#coolDowns.hold(limit.key, nowMs + view.coolMs);
    if (limit.windows.length > 0) this.#buckets.of(limit, nowMs).learn(view, nowMs);
  }

  #note(limits: readonly LimitKey[], count: number, nowMs: number): void {
    for (const limit of limits) if (limit.windows.length > 0) this.#buckets.of(limit, nowMs).note(count, nowMs);
    this.#grants += count;
  }

  #refuse(untilMs: number, key: string): Taken {
    this.#refusals += 1;
    return { kind: 'wait', untilMs, key };
  }
}
