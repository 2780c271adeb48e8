import { randomUUID } from 'node:crypto';

import { Observable } from 'rxjs';

import { defaultStretchMs } from '../../operators/limit/options.ts';
import type { Timers } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';
import type { LimitKey } from '../../ports/profile.ts';
import type { BucketView, QuotaAsk, QuotaFleet, QuotaLog, QuotaRefusal, QuotaReply } from '../../ports/quota-log.ts';

import type { RedisConnection } from './client.ts';
import { QuotaBatches } from './quota-batches.ts';
import { keysOf, readAnswer, readBucket, readRest, restChannel, rulesOf, spelled, windowsOf } from './quota-wire.ts';
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
const tellWithinMs = 500;
/**
 * {@link QuotaLog} in Redis: sliding logs that only `scripts/quota.lua` changes, on the server's own clock, so the clocks
 * of the workers do not matter.
 *
 * Rests and learned shares come with every answer, so no replica can overlook one, also one that has just been started.
 * A rest is told on a channel, too: then nobody uses what it was granted ahead.
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
  #beating = false;
  #closed = false;
  #cancelBeat = (): void => undefined;
  readonly #restListeners: ((key: string, restMs: number) => void)[] = [];

  constructor(connection: RedisConnection, timers: Timers, logger: Logger, options: RedisQuotaOptions = {}) {
    const { keyPrefix = 'larkspur:', stretchMs = defaultStretchMs, now } = options;
    this.#connection = connection;
    this.#timers = timers;
    this.#options = options;
    this.#prefix = keyPrefix;
    const rules = rulesOf(stretchMs, `${keyPrefix}${restChannel}`);
    this.#batches = new QuotaBatches(connection, loadScript('quota'), () => [now?.() ?? '', ...rules], {
      timers,
      logger,
    });
    connection.hear(`${keyPrefix}${restChannel}`, (message) => this.#hearsRest(message));
    // Whoever answers next may be empty: only its epoch tells.
    connection.onLost(() => this.#lost());
    void this.#beat();
  }

  /** Round trips for quota so far, signs of life among them. */
  get roundTrips(): number {
    return this.#batches.roundTrips + this.#beats;
  }

  take({ limits, want, patienceMs = 0, aheadMs = -1 }: QuotaAsk): Observable<QuotaReply> {
    return new Observable((subscriber) => {
      const step = {
        ...this.#placed(limits),
        patienceMs,
        args: () => {
          const wanted = subscriber.closed ? 0 : want();
          return wanted > 0 ? ['t', wanted, aheadMs, ...spelled(limits)] : undefined;
        },
        answer: (reply: ReplyReader) => {
          const answer = readAnswer(reply, limits);
          if (subscriber.closed) this.giveBack(limits, answer.stamps);
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

  giveBack(limits: readonly LimitKey[], stamps: readonly number[]): void {
    if (stamps.length > 0) this.#tell(limits, ['b', stamps.length, ...stamps, ...spelled(limits)]);
  }

  record(limit: LimitKey, agoMs: readonly number[]): void {
    if (agoMs.length === 0) return;
    const whole = agoMs.map((ms) => Math.max(0, Math.round(ms * 1_000) / 1_000));
    this.#tell([limit], ['w', ...windowsOf(limit), whole.length, ...whole]);
  }

  refused({ limit, coolMs, agoMs }: QuotaRefusal): Observable<BucketView> {
    return new Observable((subscriber) => {
      const args = ['r', ...windowsOf(limit), Math.ceil(coolMs), Math.round(agoMs * 1_000) / 1_000];
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

  onRest(tell: (key: string, restMs: number) => void): void {
    this.#restListeners.push(tell);
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

  #hearsRest(message: string): void {
    const { key, restMs } = readRest(message);
    for (const tell of this.#restListeners) tell(key, restMs);
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
    return { tag, keys: keysOf(`${this.#prefix}quota:{${tag}}`, limits) };
  }

  /** A step had no answer: nothing is asked until a sign of life has gone through. */
  #lost(): void {
    if (!this.#known || this.#closed) return;
    this.#known = false;
    // One that is under way sees to the next itself.
    if (this.#beating) return;
    this.#cancelBeat();
    this.#cancelBeat = this.#connection.whenWorthTrying(tryAgainMs, () => void this.#beat());
  }

  async #beat(): Promise<void> {
    const prefix = `${this.#prefix}quota:{fleet}`;
    const args = [this.#options.now?.() ?? '', this.#process, randomUUID(), signCountsMs];
    this.#beats++;
    this.#beating = true;
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
    this.#beating = false;
    if (this.#closed) return;
    const again = (): void => void this.#beat();
    this.#cancelBeat = this.#known
      ? this.#timers.after(beatEveryMs, again)
      : this.#connection.whenWorthTrying(tryAgainMs, again);
  }
}
