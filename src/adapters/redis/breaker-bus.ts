import { randomUUID } from 'node:crypto';

import { catchError, defer, EMPTY, from, ignoreElements, map, type Observable, of, Subject } from 'rxjs';

import { jsonOrText } from '../../model/json-levels.ts';
import { isTree } from '../../model/schema-words.ts';
import { type BreakerBus, type BreakerNews, probeQuietMs } from '../../ports/breaker-bus.ts';

import type { RedisConnection } from './client.ts';

/** {@link BreakerBus} on a channel of Redis, with a key per probe that is under way. */
export class RedisBreakerBus implements BreakerBus {
  readonly news$: Observable<BreakerNews>;
  readonly #connection: RedisConnection;
  readonly #keyPrefix: string;
  readonly #from = randomUUID();

  constructor(connection: RedisConnection, keyPrefix = 'larkspur:') {
    this.#connection = connection;
    this.#keyPrefix = keyPrefix;
    const news$ = new Subject<BreakerNews>();
    this.news$ = news$.asObservable();
    connection.hear(this.#channel, (message) => {
      const news = newsIn(message, this.#from);
      if (news !== undefined) news$.next(news);
    });
  }

  tell(news: BreakerNews): Observable<never> {
    const { upstream, key, kind } = news;
    return defer(() =>
      from(
        this.#connection.run('breaker-news', async (client) => {
          await client.publish(this.#channel, JSON.stringify({ from: this.#from, ...news }));
          if (kind === 'probed') await client.pexpire(this.#probe(upstream, key), probeQuietMs);
        }),
      ),
    ).pipe(
      catchError(() => EMPTY),
      ignoreElements(),
    );
  }

  takeProbe(upstream: string, key: string, withinMs: number): Observable<boolean> {
    return defer(() =>
      from(
        this.#connection.run('breaker-probe', (client) =>
          client.set(this.#probe(upstream, key), this.#from, 'PX', Math.ceil(withinMs) + probeQuietMs, 'NX'),
        ),
      ),
    ).pipe(
      map((reply) => reply === 'OK'),
      catchError(() => of(true)),
    );
  }

  get #channel(): string {
    return `${this.#keyPrefix}breakers`;
  }

  #probe(upstream: string, key: string): string {
    return `${this.#keyPrefix}probe:${upstream}|${key}`;
  }
}

/** What another process tells; `undefined` for one's own words, and for what is none. */
function newsIn(message: string, self: string): BreakerNews | undefined {
  const said = jsonOrText(message);
  if (!isTree(said) || said['from'] === self) return undefined;
  const { kind, upstream, key, forMs, good } = said;
  if (typeof upstream !== 'string' || typeof key !== 'string') return undefined;
  if (kind === 'opened' && typeof forMs === 'number' && forMs > 0) return { kind, upstream, key, forMs };
  return kind === 'probed' && typeof good === 'boolean' ? { kind, upstream, key, good } : undefined;
}
