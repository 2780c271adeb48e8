import type { Exchange } from '../../../src/model/outcome.ts';
import type { CallPlan } from '../../../src/ports/profile.ts';

import type { Process } from './process.ts';
import type { World } from './world.ts';

/** One attempt as the wire saw it. */
export interface Attempt {
  readonly id: string;
  readonly nth: number;
  readonly key: string | undefined;
  readonly process: Process;
  readonly upstream: string;
  /** The reading of the record: a process's memory of the call lasts no longer. */
  readonly visit: string;
  readonly large: boolean;
  /** The process heard that it had no effect. */
  clean: boolean;
  inFlight: boolean;
}

/** What a request tells of itself. */
export interface Request {
  readonly id: string;
  readonly key: string | undefined;
  /** Which reading of its record it belongs to. */
  readonly visit: string;
}

/** Starts of one bucket. */
interface Bucket {
  readonly startsMs: number[];
  coolUntilMs: number;
}

/** Each process counts from its own start, so the last bits of a sum differ. */
const roundingMs = 1e-6;

/** A refusal reaches the log and holds everybody within this, grants in hand included. */
const newsMs = 60;

/** Watches every attempt: no repeat of an unknown outcome, order per key, quota, concurrency. */
export class Attempts {
  readonly #world: World;
  readonly #of = new Map<string, Attempt[]>();
  readonly #plans = new Map<string, CallPlan>();
  readonly #buckets = new Map<string, Bucket>();
  // Of all processes together.
  readonly #fleet = new Map<string, Bucket>();
  readonly #inFlight = new Map<string, number>();
  readonly #furthest = new Map<string, number>();
  count = 0;
  /** Records read by processes so far. */
  visits = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** The house planned a call. */
  planned(id: string, plan: CallPlan): void {
    this.#plans.set(id, plan);
  }

  planOf(id: string): CallPlan | undefined {
    return this.#plans.get(id);
  }

  /** The attempts of one call. */
  of(id: string): readonly Attempt[] {
    return this.#of.get(id) ?? [];
  }

  start(process: Process, upstream: string, { id, key, visit }: Request): Attempt {
    const { audit } = this.#world;
    this.count++;
    const before = this.#of.get(id) ?? [];
    this.#of.set(id, before);
    const large = audit.callOf(id)?.large === true;
    const attempt = {
      id,
      nth: before.length + 1,
      key,
      process,
      upstream,
      visit,
      large,
      clean: false,
      inFlight: true,
    };
    if (process.stopped) audit.fail('G2', `${id} is sent while its process is taken down`);
    if (this.#world.canceller.isConfirmed(id)) audit.fail('G9', `${id} is sent, and was confirmed as cancelled`);
    if (process.pausedBy(upstream).size > 0) audit.fail('G9', `${id} is sent to ${upstream}, which is paused`);
    const plan = this.#plans.get(id);
    this.#checkRepeat(attempt, before, plan);
    this.#checkOrder(attempt);
    if (plan !== undefined) this.#checkQuota(attempt, plan);
    before.push(attempt);
    this.#count(attempt, 1);
    this.#checkConcurrency(attempt);
    return attempt;
  }

  /** The process heard what came of it. */
  told(attempt: Attempt, exchange: Exchange): void {
    const refused = exchange.kind === 'answered' && exchange.status >= 400 && exchange.status < 500;
    attempt.clean = refused || (exchange.kind === 'failed' && !exchange.sent);
    if (exchange.kind !== 'answered' || exchange.status !== 429) return;
    const resetMs = Number(exchange.headers['x-ogw-ratelimit-reset']) * 1_000;
    const key = this.#plans.get(attempt.id)?.limits[0]?.key;
    if (key === undefined) return;
    const nowMs = this.#world.clock.now();
    const bucket = bucketOf(this.#buckets, `${attempt.process.name} ${key}`);
    bucket.coolUntilMs = Math.max(bucket.coolUntilMs, nowMs + resetMs);
    // Who is killed before it could tell takes what it heard along.
    this.#world.clock.in(newsMs, () => {
      if (!attempt.process.alive) return;
      const all = bucketOf(this.#fleet, key);
      all.coolUntilMs = Math.max(all.coolUntilMs, nowMs + resetMs);
    });
  }

  /** It is over for the process, or the process has lost interest. */
  left(attempt: Attempt): void {
    if (!attempt.inFlight) return;
    attempt.inFlight = false;
    this.#count(attempt, -1);
  }

  #checkRepeat(attempt: Attempt, before: readonly Attempt[], plan: CallPlan | undefined): void {
    if (plan?.repeat.kind !== 'never') return;
    const open = before.filter(({ clean }) => !clean);
    // What the claims' server forgot is nobody's fault, unless this very visit knows it.
    const forgotten = this.#world.claims.forgotten.has(attempt.id);
    const known = forgotten ? open.filter(({ visit }) => visit === attempt.visit) : open;
    if (known.length === 0) return;
    this.#world.audit.fail('G2', `${attempt.id} carries no key, its outcome is unknown, and it is sent again`);
  }

  #checkOrder({ id }: Attempt): void {
    const place = this.#world.audit.placeOf(id);
    if (place === undefined) return;
    const furthest = this.#furthest.get(place.lane) ?? -1;
    if (place.offset >= furthest) this.#furthest.set(place.lane, place.offset);
    else this.#world.audit.orderBroken(place.lane, `${id} (offset ${place.offset}) is sent after offset ${furthest}`);
  }

  #checkQuota({ id, process }: Attempt, plan: CallPlan): void {
    const nowMs = this.#world.clock.now();
    const { audit, quota } = this.#world;
    for (const { key, windows } of plan.limits) {
      const own = bucketOf(this.#buckets, `${process.name} ${key}`);
      const all = bucketOf(this.#fleet, key);
      if (own.coolUntilMs - nowMs > roundingMs)
        audit.fail('G4', `${id} starts ${Math.ceil(own.coolUntilMs - nowMs)} ms before the reset of ${key}`);
      // Who has no windows to keep asks the log nothing, and hears nothing.
      if (windows.length > 0 && !quota.troubled && all.coolUntilMs - nowMs > roundingMs)
        audit.fail('G4', `${id} starts before the reset of ${key}, which another process was told of`);
      own.startsMs.push(nowMs);
      all.startsMs.push(nowMs);
      for (const { limit, windowMs } of windows) {
        // A log that was empty from one moment to the next is trusted: nobody noticed that it was away.
        const forgot = nowMs - quota.lostMs < windowMs;
        if (!forgot && within(own, limit, windowMs, nowMs))
          audit.fail('G4', `${id} is start ${limit + 1} of ${key} by ${process.name} within ${windowMs} ms`);
        // While the log was away, or after it forgot, each process goes by its share, and shares are not exact.
        if (!quota.troubled && within(all, limit, windowMs, nowMs))
          audit.fail('G4', `${id} is start ${limit + 1} of ${key} by all within ${windowMs} ms`);
      }
    }
  }

  #checkConcurrency({ process, upstream }: Attempt): void {
    const { concurrency, processSlots } = this.#world.plan.sizes;
    const here = this.#inFlight.get(`${process.name}/${upstream}`) ?? 0;
    if (here > concurrency) this.#world.audit.fail('G6', `${here} attempts at ${upstream}, which takes ${concurrency}`);
    const all = this.#inFlight.get(process.name) ?? 0;
    if (all > processSlots) this.#world.audit.fail('G6', `${all} attempts of a process that makes ${processSlots}`);
  }

  #count({ process, upstream }: Attempt, by: number): void {
    for (const who of [process.name, `${process.name}/${upstream}`])
      this.#inFlight.set(who, (this.#inFlight.get(who) ?? 0) + by);
  }
}

function bucketOf(buckets: Map<string, Bucket>, name: string): Bucket {
  let bucket = buckets.get(name);
  if (bucket === undefined) buckets.set(name, (bucket = { startsMs: [], coolUntilMs: 0 }));
  return bucket;
}

/** Whether the last start is one too many for a window that ends with it. */
function within({ startsMs }: Bucket, limit: number, windowMs: number, nowMs: number): boolean {
  const earlier = startsMs.at(-1 - limit);
  return earlier !== undefined && windowMs - (nowMs - earlier) > roundingMs;
}
