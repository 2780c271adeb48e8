import { catchError, defer, from, map, type Observable, of } from 'rxjs';

import type { CancelBus } from '../../ports/cancel-bus.ts';

import type { RedisConnection } from './client.ts';

/** {@link CancelBus} on a channel of Redis. A worker that is away from Redis just then does not hear it. */
export class RedisCancelBus implements CancelBus {
  readonly #connection: RedisConnection;
  readonly #channel: string;

  constructor(connection: RedisConnection, keyPrefix = 'larkspur:') {
    this.#connection = connection;
    this.#channel = `${keyPrefix}cancelled`;
  }

  tell(id: string): Observable<boolean> {
    return defer(() => from(this.#connection.run('cancel', (client) => client.publish(this.#channel, id)))).pipe(
      map(() => true),
      catchError(() => of(false)),
    );
  }

  onCancel(listener: (id: string) => void): void {
    this.#connection.hear(this.#channel, listener);
  }
}
