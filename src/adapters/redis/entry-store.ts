import { Observable } from 'rxjs';

import type { EntryStore, VaultEntry } from '../../ports/vault.ts';

import type { RedisConnection } from './client.ts';
import { evaluate, loadScript } from './scripts.ts';

const againAfterMs = 500;
const script = loadScript('vault');

/** {@link EntryStore} in Redis: one string per entry. */
export class RedisEntryStore implements EntryStore {
  readonly #connection: RedisConnection;
  readonly #keyPrefix: string;

  constructor(connection: RedisConnection, keyPrefix: string) {
    this.#connection = connection;
    this.#keyPrefix = keyPrefix;
  }

  read(key: string): Observable<VaultEntry | undefined> {
    return this.#untilAnswered(async () => {
      const value = await this.#connection.run('get', (client) => client.get(this.#keyPrefix + key));
      if (value === null) return undefined;
      const newline = value.indexOf('\n');
      return { version: Number(value.slice(0, newline)), text: value.slice(newline + 1) };
    });
  }

  write(key: string, text: string, ifVersion: number, ttlMs: number): Observable<boolean> {
    const args = [ifVersion, text, Math.max(1, Math.ceil(ttlMs))];
    return this.#untilAnswered(async () => {
      const reply = await this.#connection.run('vault', (client) =>
        evaluate(client, script, [this.#keyPrefix + key], args),
      );
      return reply === 1;
    });
  }

  /** Asks again until Redis answers. */
  #untilAnswered<T>(ask: () => Promise<T>): Observable<T> {
    return new Observable<T>((subscriber) => {
      let cancel = (): void => undefined;
      const attempt = (): void => {
        ask().then(
          (answer) => {
            subscriber.next(answer);
            subscriber.complete();
          },
          () => {
            if (!subscriber.closed) cancel = this.#connection.whenWorthTrying(againAfterMs, attempt);
          },
        );
      };
      attempt();
      return () => cancel();
    });
  }
}
