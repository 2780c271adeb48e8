import { LarkspurError, messageOf } from '../../model/errors.ts';
import type { Logger } from '../../ports/logger.ts';

import type { RedisConnection } from './client.ts';
import { evaluate, evaluateReplicated, type Replication, type Script } from './scripts.ts';

/** One step of a batched script. */
export interface BatchedStep {
  readonly key: string;
  /** Steps of one script share this; the hash tag of the key. */
  readonly tag: string;
  readonly args: readonly (string | number)[];
  /** Bytes of the large arguments, for the size of a batch. */
  readonly bytes: number;
  /** Takes this step's part of the reply from the front. */
  answer(reply: ReplyReader): void;
  /** Nobody waits any more: it need not be sent, unless it may have been carried out before. */
  readonly dropped: boolean;
  /** It was sent and not answered. */
  unanswered?: boolean;
}

/** Walks the flat reply of a script. */
export class ReplyReader {
  /** How many replicas had what the script wrote; 0 when nobody waited for them. */
  readonly replicas: number;
  readonly #values: readonly unknown[];
  #at = 0;

  constructor(reply: unknown, replicas = 0) {
    if (!Array.isArray(reply)) throw new TypeError('the script answered with something that is no list');
    this.#values = reply;
    this.replicas = replicas;
  }

  number(): number {
    const value = this.#values[this.#at++];
    if (typeof value !== 'number') throw new TypeError(`the script answered ${typeof value} where a number belongs`);
    return value;
  }

  text(): string {
    const value = this.#values[this.#at++];
    if (typeof value !== 'string') throw new TypeError(`the script answered ${typeof value} where text belongs`);
    return value;
  }
}

interface Lane {
  pending: BatchedStep[];
  out: number;
  waiting: boolean;
}

const batchSteps = 64;
const batchBytes = 256 * 1024;
const scriptsOut = 8;
const tryAgainMs = 100;

/**
 * Gathers steps into script calls. What comes in one turn of the event loop, or while the last script is out, goes
 * together, up to 64 steps or 256 KiB; full batches do not wait for the one before. A batch without an answer is kept
 * and sent again when Redis is back, however long that takes: steps must bear repetition.
 */
export class StepBatches {
  readonly #connection: RedisConnection;
  readonly #script: Script;
  readonly #before: () => readonly (string | number)[];
  readonly #logger: Logger;
  readonly #replication: Replication | undefined;
  readonly #lanes = new Map<string, Lane>();
  readonly #dirty = new Set<Lane>();
  #closed = false;

  /**
   * @param before arguments that come before those of the steps
   * @param replication whether to wait for replicas after each script; the connection then serves nothing else
   */
  constructor(
    connection: RedisConnection,
    script: Script,
    before: () => readonly (string | number)[],
    logger: Logger,
    replication?: Replication,
  ) {
    this.#connection = connection;
    this.#script = script;
    this.#before = before;
    this.#logger = logger;
    this.#replication = replication;
  }

  add(step: BatchedStep): void {
    // One node takes the keys of all tags in one script.
    const lane = this.#laneOf(this.#connection.clustered ? step.tag : '');
    lane.pending.push(step);
    if (this.#dirty.size === 0) setImmediate(() => this.#flush());
    this.#dirty.add(lane);
  }

  /** Sends nothing from here on; what waits is forgotten. */
  close(): void {
    this.#closed = true;
    this.#lanes.clear();
  }

  #laneOf(tag: string): Lane {
    let lane = this.#lanes.get(tag);
    if (lane === undefined) {
      lane = { pending: [], out: 0, waiting: false };
      this.#lanes.set(tag, lane);
    }
    return lane;
  }

  #flush(): void {
    const lanes = [...this.#dirty];
    this.#dirty.clear();
    for (const lane of lanes) this.#pump(lane);
  }

  #pump(lane: Lane): void {
    if (lane.waiting || this.#closed) return;
    while (lane.pending.length > 0 && lane.out < scriptsOut && (lane.out === 0 || lane.pending.length >= batchSteps)) {
      const steps = takeBatch(lane.pending);
      if (steps.length > 0) void this.#send(lane, steps);
    }
  }

  async #send(lane: Lane, steps: readonly BatchedStep[]): Promise<void> {
    const keys = steps.map((step) => step.key);
    const args = this.#before().concat(...steps.map((step) => step.args));
    lane.out++;
    let reader: ReplyReader | undefined;
    try {
      reader = await this.#connection.run(this.#script.name, async (client) => {
        if (this.#replication === undefined) return new ReplyReader(await evaluate(client, this.#script, keys, args));
        const { reply, replicas } = await evaluateReplicated(client, this.#script, keys, args, this.#replication);
        return new ReplyReader(reply, replicas);
      });
    } catch (error) {
      for (const step of steps) step.unanswered = true;
      lane.pending.unshift(...steps);
      this.#wait(lane, error);
    } finally {
      lane.out--;
    }
    // Whatever fails from here on, a reply that cannot be read or somebody who cannot take the answer: the script ran, so nothing
    // of it is sent, or answered, a second time.
    if (reader !== undefined) for (const step of steps) step.answer(reader);
    this.#pump(lane);
  }

  #wait(lane: Lane, error: unknown): void {
    if (lane.waiting) return;
    lane.waiting = true;
    const away = error instanceof LarkspurError && error.code === 'redis_unavailable';
    const line = { script: this.#script.name, error: messageOf(error) };
    if (away) this.#logger.debug(line, 'no answer from Redis; steps wait');
    else this.#logger.error(line, 'Redis refuses a script; its steps wait and are tried again');
    this.#connection.whenWorthTrying(tryAgainMs, () => {
      lane.waiting = false;
      this.#pump(lane);
    });
  }
}

function takeBatch(pending: BatchedStep[]): BatchedStep[] {
  const batch: BatchedStep[] = [];
  let bytes = 0;
  let taken = 0;
  for (const step of pending) {
    if (batch.length >= batchSteps || (batch.length > 0 && bytes + step.bytes > batchBytes)) break;
    taken++;
    if (step.dropped && step.unanswered !== true) continue;
    bytes += step.bytes;
    batch.push(step);
  }
  pending.splice(0, taken);
  return batch;
}
