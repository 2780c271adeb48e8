import { Cluster, Redis } from 'ioredis';

import { messageOf } from '../../model/errors.ts';
import type { Timers } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';

import { isReply } from './errors.ts';

// Whoever mends permissions looks for what comes of it soon.
const askAgainMs = 10_000;

/**
 * Hears channels over a connection of its own, a copy of the one given, that opens with the first of them. What is said while
 * it is away is not heard. A channel that Redis refuses is told of once, and asked for again each ten seconds and on each new
 * connection until it is heard.
 */
export class RedisChannels {
  readonly #client: Redis | Cluster;
  readonly #timers: Timers;
  readonly #logger: Logger;
  readonly #listeners = new Map<string, (message: string) => void>();
  /** Channels that are refused, with what ends the wait for the next try. */
  readonly #refused = new Map<string, () => void>();
  #connection: Redis | Cluster | undefined;
  #closed = false;

  constructor(client: Redis | Cluster, timers: Timers, logger: Logger) {
    this.#client = client;
    this.#timers = timers;
    this.#logger = logger;
  }

  /** Hears a channel from here on. One channel has one listener. */
  hear(channel: string, listener: (message: string) => void): void {
    this.#listeners.set(channel, listener);
    if (this.#connection === undefined) this.#connection = this.#open();
    else this.#subscribe(channel);
  }

  /** The connection may be dead, and nothing is asked on it that would show it: begins another one. */
  renew(): void {
    if (this.#connection instanceof Redis && this.#connection.status === 'ready') this.#connection.disconnect(true);
  }

  close(): void {
    this.#closed = true;
    for (const cancel of this.#refused.values()) cancel();
    this.#connection?.disconnect();
  }

  #open(): Redis | Cluster {
    // Commands of a subscriber are few and idle for long: no time limit. What the driver would subscribe to again by itself it
    // asks for in one command, of which nobody hears that it was refused.
    const options = { commandTimeout: undefined, maxRetriesPerRequest: null, autoResubscribe: false };
    const connection =
      this.#client instanceof Cluster
        ? this.#client.duplicate([], { enableOfflineQueue: true })
        : this.#client.duplicate({ enableOfflineQueue: true, ...options });
    // The main connection says what there is to say.
    connection.on('error', () => undefined);
    connection.on('message', (from: string, message: string) => this.#listeners.get(from)?.(message));
    connection.on('ready', () => {
      for (const channel of this.#listeners.keys()) this.#subscribe(channel);
    });
    return connection;
  }

  #subscribe(channel: string): void {
    const connection = this.#connection;
    // One that is not there yet asks for all of them when it is.
    if (connection?.status !== 'ready') return;
    connection.subscribe(channel).then(
      () => this.#heard(channel),
      (error: unknown) => {
        // Without a reply the connection is gone, and the next one asks again.
        if (isReply(error) && !this.#closed) this.#refusedBy(channel, error);
      },
    );
  }

  #heard(channel: string): void {
    if (!this.#forget(channel)) return;
    this.#logger.info({ channel }, 'a channel of Redis is heard now');
  }

  #refusedBy(channel: string, error: unknown): void {
    if (!this.#forget(channel)) {
      const cure = `let the user of redis.url hear it: ACL SETUSER ... &${channel}; it is asked for again by itself`;
      this.#logger.error({ channel, error: messageOf(error), cure }, 'a channel of Redis cannot be heard');
    }
    this.#refused.set(
      channel,
      this.#timers.after(askAgainMs, () => this.#subscribe(channel)),
    );
  }

  /** @returns whether it was refused before */
  #forget(channel: string): boolean {
    this.#refused.get(channel)?.();
    return this.#refused.delete(channel);
  }
}
