import type { LookupFunction } from 'node:net';

import { type Dispatcher, Pool } from 'undici';

import type { Clock } from '../../ports/clock.ts';

/** What may be set for the connections to one origin. */
export interface PoolOptions {
  /** Sockets at once; further requests queue. >= 1; default 256, above what a bulkhead lets through. */
  readonly connections?: number;
  /** Time for TCP and TLS together; default 2000. */
  readonly connectTimeoutMs?: number;
  /** An idle socket is closed after this; default 4000, below the 5 s that servers commonly keep theirs. */
  readonly keepAliveMs?: number;
  /** No new request goes over a socket older than this, so address changes are followed; default 60,000. */
  readonly maxAgeMs?: number;
  /** Authorities to trust instead of the system's, PEM. */
  readonly ca?: string;
  /** Resolves names; default: the system's resolver. Asked for each new socket. */
  readonly lookup?: LookupFunction;
}

/**
 * Keep-alive connections to one origin. The whole set is renewed at `maxAgeMs`: the old one finishes what it has begun,
 * the new one resolves the name again. (undici's own `clientTtl` is not looked at while requests queue, so under load its
 * sockets would live on.) Who creates a pool closes it.
 */
export class OriginPool {
  readonly #origin: string;
  readonly #clock: Clock;
  readonly #maxAgeMs: number;
  #options: Pool.Options;
  readonly #retiring = new Set<Promise<void>>();
  #pool: Pool;
  #bornMs: number;

  /** @param baseUrl its origin counts; a path is the profile's business */
  constructor(baseUrl: string, options: PoolOptions, clock: Clock) {
    this.#origin = new URL(baseUrl).origin;
    this.#clock = clock;
    this.#maxAgeMs = options.maxAgeMs ?? 60_000;
    const keepAliveMs = options.keepAliveMs ?? 4_000;
    const { ca, lookup, connectTimeoutMs = 2_000 } = options;
    const connect = { timeout: connectTimeoutMs, ...(ca && { ca }), ...(lookup && { lookup }) };
    this.#options = {
      connections: options.connections ?? 256,
      pipelining: 1,
      keepAliveTimeout: keepAliveMs,
      // A server may promise to keep sockets longer; ours get no older than the pool.
      keepAliveMaxTimeout: this.#maxAgeMs,
      // Each attempt has one timer of its own, so undici needs none.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect,
    };
    this.#pool = new Pool(this.#origin, this.#options);
    this.#bornMs = clock.now();
  }

  get origin(): string {
    return this.#origin;
  }

  /** Sockets that are open, requests that run, requests that wait for a socket. */
  get stats(): { readonly open: number; readonly running: number; readonly waiting: number } {
    const { connected, running, queued } = this.#pool.stats;
    return { open: connected, running, waiting: queued };
  }

  /** Sends one request; what becomes of it is told to the handler alone. */
  dispatch(request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    const nowMs = this.#clock.now();
    if (nowMs - this.#bornMs >= this.#maxAgeMs && !this.#pool.closed) this.#renew(nowMs);
    this.#pool.dispatch(request, handler);
  }

  /** New requests share so many sockets from now on, an integer >= 1; those that run or queue end on the sockets they have. */
  resize(connections: number): void {
    this.#options = { ...this.#options, connections };
    if (!this.#pool.closed) this.#renew(this.#clock.now());
  }

  /** Lets running requests end, then closes the sockets. New ones fail as `aborted`. */
  async close(): Promise<void> {
    if (!this.#pool.closed) this.#retire(this.#pool);
    await Promise.all(this.#retiring);
  }

  #renew(nowMs: number): void {
    this.#retire(this.#pool);
    this.#pool = new Pool(this.#origin, this.#options);
    this.#bornMs = nowMs;
  }

  #retire(pool: Pool): void {
    const closing = pool.close().finally(() => this.#retiring.delete(closing));
    this.#retiring.add(closing);
  }
}
