import { LarkspurError, messageOf } from '../../model/errors.ts';
import type { Timers } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';

import type { RedisConnection } from './client.ts';
import { evaluate, type Script } from './scripts.ts';
import { ReplyReader } from './step-batches.ts';

type Argument = string | number;

/** One step of the script on buckets. */
export interface QuotaStep {
  /** Keys of one script share it on a Cluster. */
  readonly tag: string;
  readonly keys: readonly string[];
  /** How long it may wait for others to go with, milliseconds. */
  readonly patienceMs: number;
  /** Built right before the script goes; `undefined`: nobody needs it any more. */
  args(): readonly Argument[] | undefined;
  /** Takes this step's part of the reply from the front. */
  answer(reply: ReplyReader): void;
  /** No answer came; the step may have been carried out. */
  away(): void;
}

interface Lane {
  pending: QuotaStep[];
  out: boolean;
  /** What waits shall go. */
  due: boolean;
  /** How long is waited for more steps, milliseconds; `Infinity`: not at all. */
  waitMs: number;
  /** Ends that wait. */
  cancelWait: (() => void) | undefined;
}

const mostSteps = 64;
/** So many steps wait for no more. */
const enoughSteps = 16;

/**
 * Gathers steps into script calls, one under way at a time: what comes in one turn of the event loop, or meanwhile, goes
 * together. Unlike claims nothing waits for a Redis that is away: a step that was not answered, and all behind it, are told
 * at once.
 */
export class QuotaBatches {
  readonly #connection: RedisConnection;
  readonly #script: Script;
  readonly #before: () => readonly Argument[];
  readonly #logger: Logger;
  readonly #timers: Timers;
  readonly #lanes = new Map<string, Lane>();
  readonly #dirty = new Set<Lane>();
  #roundTrips = 0;

  /** @param before arguments that come before those of the steps */
  constructor(
    connection: RedisConnection,
    script: Script,
    before: () => readonly Argument[],
    parts: { readonly timers: Timers; readonly logger: Logger },
  ) {
    this.#connection = connection;
    this.#script = script;
    this.#before = before;
    this.#logger = parts.logger;
    this.#timers = parts.timers;
  }

  /** Scripts sent so far. */
  get roundTrips(): number {
    return this.#roundTrips;
  }

  add(step: QuotaStep): void {
    // One node takes the keys of all tags in one script.
    const tag = this.#connection.clustered ? step.tag : '';
    let lane = this.#lanes.get(tag);
    if (lane === undefined)
      this.#lanes.set(tag, (lane = { pending: [], out: false, due: false, waitMs: Infinity, cancelWait: undefined }));
    lane.pending.push(step);
    const { pending } = lane;
    if (step.patienceMs > 0 && pending.length < enoughSteps) this.#waitForMore(lane, step.patienceMs);
    else this.#soon(lane);
  }

  /** The least patient step decides how long is waited, and takes all along. */
  #waitForMore(lane: Lane, patienceMs: number): void {
    if (this.#dirty.has(lane) || patienceMs >= lane.waitMs) return;
    lane.cancelWait?.();
    lane.waitMs = patienceMs;
    lane.cancelWait = this.#timers.after(patienceMs, () => this.#soon(lane));
  }

  #soon(lane: Lane): void {
    lane.cancelWait?.();
    lane.cancelWait = undefined;
    lane.waitMs = Infinity;
    if (this.#dirty.size === 0) setImmediate(() => this.#flush());
    this.#dirty.add(lane);
  }

  #flush(): void {
    const lanes = [...this.#dirty];
    this.#dirty.clear();
    for (const lane of lanes) {
      lane.due = true;
      void this.#pump(lane);
    }
  }

  async #pump(lane: Lane): Promise<void> {
    if (lane.out) return;
    lane.out = true;
    while (lane.due && lane.pending.length > 0) {
      lane.due = lane.pending.length > mostSteps;
      await this.#send(lane);
    }
    lane.due = false;
    lane.out = false;
  }

  async #send(lane: Lane): Promise<void> {
    const keys: string[] = [];
    const args: Argument[] = [...this.#before()];
    const steps = lane.pending.splice(0, mostSteps).filter((step) => {
      const own = step.args();
      if (own === undefined) return false;
      keys.push(...step.keys);
      args.push(...own);
      return true;
    });
    if (steps.length === 0) return;
    let reply: unknown;
    try {
      this.#roundTrips++;
      reply = await this.#connection.run(this.#script.name, (client) => evaluate(client, this.#script, keys, args));
    } catch (error) {
      const away = error instanceof LarkspurError && error.code === 'redis_unavailable';
      if (!away) this.#logger.error({ error: messageOf(error) }, 'Redis refuses to count quota; it is split meanwhile');
      for (const step of [...steps, ...lane.pending.splice(0)]) step.away();
      return;
    }
    const reader = new ReplyReader(reply);
    for (const step of steps) step.answer(reader);
  }
}
