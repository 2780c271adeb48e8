import { Cluster, Redis, type RedisOptions } from 'ioredis';

import { LarkspurError } from '../../model/errors.ts';
import type { Clock, Timers } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';
import type { Metrics } from '../../ports/metrics.ts';
import type { Random } from '../../ports/random.ts';

import { AwayLog } from './away-log.ts';
import { RedisChannels } from './channels.ts';
import { isDemotion, isReply, toLarkspurError } from './errors.ts';
import { RedisGuard } from './guard.ts';

/** What a connection to Redis needs. */
export interface RedisSettings {
  /** `redis://` or `rediss://`, with user, password and database number where needed. */
  readonly url: string;
  /** The address is one node of a Redis Cluster. Default `false`. */
  readonly cluster?: boolean;
  /** Longest wait for a reply. Default 250. */
  readonly commandTimeoutMs?: number;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

const connectTimeoutMs = 1000;
// The driver waits so long for a connection to end, also for one that has ended: whoever is done must not wait for it.
const goodbyeMs = 250;
// Who has just begun to connect does not know yet whether Redis is away.
const firstConnectMs = 5_000;
// Full jitter over a second from the first try on: all workers lose Redis in the same moment and must not come back in one.
const reconnectBaseMs = 1000;
const reconnectCapMs = 3000;
// A host that vanished resets nothing: the system believes in its connections for a quarter of an hour.
const deafAfterMs = 5_000;
// An address that leads to a replica for good is no reason to connect with every command.
const demotedEveryMs = 5_000;
const secondsBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5];

/**
 * One connection to Redis, shared by all stores of a process. It reconnects for ever with full jitter (Brooker, AWS
 * 2015); commands never queue while it is away but fail at once, and a {@link RedisGuard} decides when to ask again. A
 * connection that owes an answer for five seconds, or leads to a server that has become a replica, is made anew: its address
 * may lead elsewhere by now.
 */
export class RedisConnection {
  readonly client: Redis | Cluster;
  /** All keys of one script must share a hash tag. */
  readonly clustered: boolean;
  readonly #guard: RedisGuard;
  readonly #timers: Timers;
  readonly #seconds: { observe(labels: { command: string }, value: number): void };
  readonly #errors: { add(labels: { command: string }): void };
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();
  readonly #bornMs: number;
  #wasReady = false;
  #trouble: unknown;
  readonly #away: AwayLog;
  #closing = false;
  #leftDemotedMs = -Infinity;
  readonly #channels: RedisChannels;

  /** Connects in the background; nothing is awaited and nothing thrown for an absent server. */
  constructor(settings: RedisSettings) {
    const { url, cluster = false, clock, timers, logger, metrics } = settings;
    this.clustered = cluster;
    this.#clock = clock;
    this.#bornMs = clock.now();
    this.#timers = timers;
    this.#guard = new RedisGuard(clock);
    this.#away = new AwayLog(logger, clock);
    this.#seconds = metrics.histogram('larkspur_redis_seconds', 'Time of Redis commands', ['command'], secondsBuckets);
    this.#errors = metrics.counter('larkspur_redis_errors_total', 'Redis commands without an answer', ['command']);
    metrics.gauge('larkspur_redis_degraded', '1 while Redis counts as away', [], () =>
      this.#isKnown() ? [[{}, this.ready() ? 0 : 1]] : [],
    );
    const retry = retryOf(settings);
    const options = optionsOf(settings);
    this.client = cluster
      ? new Cluster([url], { redisOptions: options, enableOfflineQueue: false, clusterRetryStrategy: retry })
      : new Redis(url, {
          ...options,
          enableOfflineQueue: false,
          retryStrategy: retry,
          // In a Cluster the server itself says who has taken over.
          reconnectOnError: (error) => isDemotion(error) && this.#leavesDemoted(error),
        });
    this.#channels = new RedisChannels(this.client, timers, logger);
    this.client.on('ready', () => this.#returned());
    this.client.on('error', (error: unknown) => {
      this.#trouble = error;
      this.#left(error);
    });
    this.client.on('close', () => this.#left());
  }

  /** Whether it is connected and not degraded. */
  ready(): boolean {
    return this.client.status === 'ready' && !this.#guard.degraded;
  }

  /** Why there is no connection, as its newest attempt failed; `undefined` while there is one, or where nobody tells. */
  get trouble(): unknown {
    return this.#trouble;
  }

  /**
   * Runs a command. Rejects with a `LarkspurError`: at once while Redis counts as away, else after at most the command
   * timeout. After a rejection with `redis_unavailable` the command may have run.
   * @param name bounded word for metrics
   */
  async run<T>(name: string, command: (client: Redis | Cluster) => Promise<T>): Promise<T> {
    if (this.#guard.admit() > 0)
      throw new LarkspurError('redis_unavailable', 'Redis counts as away', { retryable: true });
    const startMs = this.#clock.now();
    try {
      const reply = await command(this.client);
      this.#guard.succeeded();
      this.#away.done(name);
      this.#seconds.observe({ command: name }, (this.#clock.now() - startMs) / 1000);
      return reply;
    } catch (error) {
      if (isReply(error)) this.#guard.succeeded();
      else this.#guard.failed();
      if (isDemotion(error)) this.#away.refused(name);
      this.#errors.add({ command: name });
      throw toLarkspurError(error);
    }
  }

  /** Runs `task` once it is worth asking again after a failure: on reconnection, or after `ms`. Returns what cancels it. */
  whenWorthTrying(ms: number, task: () => void): () => void {
    const once = (): void => {
      cancel();
      task();
    };
    const cancelTimer = this.#timers.after(ms, once);
    this.#waiting.add(once);
    const cancel = (): void => {
      cancelTimer();
      this.#waiting.delete(once);
    };
    return cancel;
  }

  /** Hears a channel, over a connection of its own, as long as this one is not closed; see {@link RedisChannels}. */
  hear(channel: string, listener: (message: string) => void): void {
    this.#channels.hear(channel, listener);
  }

  /** Calls back each time the connection is lost. */
  onLost(tell: () => void): void {
    this.client.on('close', tell);
  }

  /** Waits so long for each reply from now on. */
  setTimeoutMs(ms: number): void {
    if (this.client instanceof Cluster) {
      if (this.client.options.redisOptions !== undefined) this.#setPatience(this.client.options.redisOptions, ms);
      for (const node of this.client.nodes()) this.#setPatience(node.options, ms);
    } else this.#setPatience(this.client.options, ms);
  }

  /** Says goodbye and disconnects; never rejects. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#channels.close();
    if (this.client.status === 'ready') await this.client.quit().catch(() => undefined);
    this.client.disconnect();
  }

  #isKnown(): boolean {
    return this.#wasReady || this.#clock.now() - this.#bornMs >= firstConnectMs;
  }

  #setPatience(options: RedisOptions, ms: number): void {
    options.commandTimeout = ms;
    options.socketTimeout = deafAfter(ms);
  }

  #leavesDemoted(error: unknown): boolean {
    const nowMs = this.#clock.now();
    if (nowMs - this.#leftDemotedMs < demotedEveryMs) return false;
    this.#leftDemotedMs = nowMs;
    this.#left(error);
    return true;
  }

  #returned(): void {
    // What it heard on may be as dead.
    if (this.#wasReady) this.#channels.renew();
    this.#wasReady = true;
    this.#trouble = undefined;
    this.#away.connected();
    this.#guard.succeeded();
    for (const task of [...this.#waiting]) task();
  }

  #left(cause?: unknown): void {
    if (!this.#closing && this.client.status !== 'end') this.#away.left(cause);
  }
}

function optionsOf(settings: RedisSettings) {
  const { commandTimeoutMs = 250 } = settings;
  return {
    protocol: 2,
    connectionName: 'larkspur',
    connectTimeout: connectTimeoutMs,
    disconnectTimeout: goodbyeMs,
    commandTimeout: commandTimeoutMs,
    socketTimeout: deafAfter(commandTimeoutMs),
    // What was sent and not answered may have run: only its sender knows whether to repeat it.
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
  } as const satisfies RedisOptions;
}

/** A connection on which so long nothing came that is owed is of no use. */
function deafAfter(commandTimeoutMs: number): number {
  return Math.max(deafAfterMs, 2 * commandTimeoutMs);
}

function retryOf({ random }: RedisSettings): (attempt: number) => number {
  return (attempt) =>
    Math.ceil(random.next() * Math.min(reconnectCapMs, reconnectBaseMs * 2 ** Math.min(attempt - 1, 10)));
}
