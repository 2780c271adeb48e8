import { randomUUID } from 'node:crypto';

import { Observable } from 'rxjs';

import { defaultStretchMs, factorRule, fullRule, leastShared } from '../../operators/limit/options.ts';
import type { Timers } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';
import type { LimitKey } from '../../ports/profile.ts';
import type {
  BucketView,
  QuotaAnswer,
  QuotaAsk,
  QuotaFleet,
  QuotaLog,
  QuotaRefusal,
  QuotaReply,
} from '../../ports/quota-log.ts';

import type { RedisConnection } from './client.ts';
import { QuotaBatches } from './quota-batches.ts';
import { evaluate, loadScript } from './scripts.ts';
import type { ReplyReader } from './step-batches.ts';

/** Which keys, windows and clock. */
export interface RedisQuotaOptions {
  /** Before all keys. Default `larkspur:`. */
  readonly keyPrefix?: string;
  /** Milliseconds added to every window. Default 60. */
  readonly stretchMs?: number;
  /** Epoch milliseconds instead of the server's own clock; tests give one. */
  readonly now?: () => number;
}

const beatEveryMs = 10_000;
const signCountsMs = 60_000;
const tryAgainMs = 200;
/** What needs no answer goes with the next ask, or alone after so long. */
const tellWithinMs = 100;
/** How long a bucket remembers what it learned without a call. */
const bucketLifeMs = 3_600_000;
const fullOf = [leastShared, fullRule.keptMs, fullRule.everyMs];
const { floor, leastKept, leastUsed, unexplained, manyRefusals, manyShare, promptMs } = factorRule;
const { believedInARow, vainInARow, firstStep, longestStep, everyMs, longestEveryMs } = factorRule;
const factorOf = [
  ...[floor, leastKept, leastUsed, unexplained, manyRefusals, manyShare, promptMs],
  ...[believedInARow, vainInARow, firstStep, longestStep, everyMs, longestEveryMs],
];

/**
 * {@link QuotaLog} in Redis: sliding logs that only `scripts/quota.lua` changes, on the server's own clock, so the clocks
 * of the workers do not matter.
 *
 * Cool-downs and learned factors come with every answer instead of over a channel of their own: each start is granted
 * there, so no replica can overlook one, also one that has just been started; what was granted before lives for 20 ms.
 *
 * A sign of life each ten seconds tells how many replicas there are: by that number the limits are split while Redis is
 * away. The first one comes at once; `close` takes this process from the count.
 */
export class RedisQuotaLog implements QuotaLog {
  readonly #connection: RedisConnection;
  readonly #batches: QuotaBatches;
  readonly #timers: Timers;
  readonly #options: RedisQuotaOptions;
  readonly #prefix: string;
  readonly #process = randomUUID();
  readonly #beatScript = loadScript('quota-beat');
  #fleet: QuotaFleet = { replicas: 0, epoch: '' };
  #known = false;
  #beats = 0;
  #closed = false;
  #cancelBeat = (): void => undefined;

  constructor(connection: RedisConnection, timers: Timers, logger: Logger, options: RedisQuotaOptions = {}) {
    const { keyPrefix = 'larkspur:', stretchMs = defaultStretchMs, now } = options;
    this.#connection = connection;
    this.#timers = timers;
    this.#options = options;
    this.#prefix = keyPrefix;
    const rule = [stretchMs, bucketLifeMs, ...fullOf, ...factorOf];
    this.#batches = new QuotaBatches(connection, loadScript('quota'), () => [now?.() ?? '', ...rule], {
      timers,
      logger,
    });
    void this.#beat();
  }

  /** Round trips for quota so far, signs of life among them. */
  get roundTrips(): number {
    return this.#batches.roundTrips + this.#beats;
  }

  take({ limits, want, patienceMs = 0 }: QuotaAsk): Observable<QuotaReply> {
    return new Observable((subscriber) => {
      const step = {
        ...this.#placed(limits),
        patienceMs,
        args: () => {
          const wanted = subscriber.closed ? 0 : want();
          return wanted > 0 ? ['t', wanted, ...spelled(limits)] : undefined;
        },
        answer: (reply: ReplyReader) => {
          const answer = readAnswer(reply, limits);
          if (subscriber.closed) this.giveBack(limits, answer.stamp, answer.granted);
          subscriber.next(answer);
          subscriber.complete();
        },
        away: () => {
          this.#lost();
          subscriber.next({ kind: 'away' });
          subscriber.complete();
        },
      };
      this.#batches.add(step);
    });
  }

  giveBack(limits: readonly LimitKey[], stamp: number, count: number): void {
    if (count > 0) this.#tell(limits, ['b', stamp, count, ...spelled(limits)]);
  }

  record(limit: LimitKey, agoMs: readonly number[]): void {
    if (agoMs.length === 0) return;
    const whole = agoMs.map((ms) => Math.max(0, Math.round(ms * 1_000) / 1_000));
    this.#tell([limit], ['w', ...windowsOf(limit), whole.length, ...whole]);
  }

  refused({ limit, coolMs }: QuotaRefusal): Observable<BucketView> {
    return new Observable((subscriber) => {
      const args = ['r', ...windowsOf(limit), Math.ceil(coolMs)];
      this.#batches.add({
        ...this.#placed([limit]),
        patienceMs: 0,
        args: () => args,
        answer: (reply) => {
          subscriber.next(readBucket(reply, limit));
          subscriber.complete();
        },
        away: () => {
          this.#lost();
          subscriber.complete();
        },
      });
    });
  }

  ready(): boolean {
    return this.#known && this.#connection.ready();
  }

  fleet(): QuotaFleet {
    return this.#fleet;
  }

  /** Ends the signs of life, and tells the others. Never rejects. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelBeat();
    if (!this.#connection.ready()) return;
    await this.#connection
      .run('quota-leave', (client) => client.zrem(`${this.#prefix}quota:{fleet}:replicas`, this.#process))
      .catch(() => undefined);
  }

  #tell(limits: readonly LimitKey[], args: readonly (string | number)[]): void {
    this.#batches.add({
      ...this.#placed(limits),
      patienceMs: tellWithinMs,
      args: () => args,
      answer: () => undefined,
      away: () => this.#lost(),
    });
  }

  #placed(limits: readonly LimitKey[]): { readonly tag: string; readonly keys: readonly string[] } {
    const tag = limits[0]?.group ?? limits[0]?.key ?? '';
    const keys: string[] = [];
    for (const { key, windows } of limits) {
      const bucket = `${this.#prefix}quota:{${tag}}:${key}`;
      keys.push(bucket);
      for (const { windowMs } of windows) keys.push(`${bucket}:${windowMs}`);
    }
    return { tag, keys };
  }

  /** A step had no answer: nothing is asked until a sign of life has gone through. */
  #lost(): void {
    if (!this.#known || this.#closed) return;
    this.#known = false;
    this.#cancelBeat();
    this.#cancelBeat = this.#connection.whenWorthTrying(tryAgainMs, () => void this.#beat());
  }

  async #beat(): Promise<void> {
    const prefix = `${this.#prefix}quota:{fleet}`;
    const args = [this.#options.now?.() ?? '', this.#process, randomUUID(), signCountsMs];
    this.#beats++;
    try {
      const reply = await this.#connection.run(this.#beatScript.name, (client) =>
        evaluate(client, this.#beatScript, [`${prefix}:replicas`, `${prefix}:epoch`], args),
      );
      const [replicas, epoch] = reply as [number, string];
      this.#fleet = { replicas, epoch };
      this.#known = true;
    } catch {
      this.#known = false;
    }
    if (this.#closed) return;
    const again = (): void => void this.#beat();
    this.#cancelBeat = this.#known
      ? this.#timers.after(beatEveryMs, again)
      : this.#connection.whenWorthTrying(tryAgainMs, again);
  }
}

function windowsOf({ windows }: LimitKey): number[] {
  return [windows.length, ...windows.flatMap(({ limit, windowMs }) => [limit, windowMs])];
}

function spelled(limits: readonly LimitKey[]): number[] {
  return [limits.length, ...limits.flatMap(windowsOf)];
}

function readAnswer(reply: ReplyReader, limits: readonly LimitKey[]): QuotaAnswer {
  const granted = reply.number();
  const stamp = reply.number();
  const waitMs = Math.ceil(reply.number() / 1_000);
  const key = limits[reply.number() - 1]?.key ?? '';
  const buckets = limits.map((limit) => readBucket(reply, limit));
  return { kind: 'answer', granted, stamp, waitMs, key, buckets };
}

function readBucket(reply: ReplyReader, { key, windows }: LimitKey): BucketView {
  const coolMs = Math.ceil(reply.number() / 1_000);
  const factor = reply.number() / 1_000_000;
  const fullAgoUs = reply.number();
  const taken = windows.map(() => reply.number());
  return { key, coolMs, factor, taken, fullAgoMs: fullAgoUs < 0 ? -1 : fullAgoUs / 1_000 };
}
