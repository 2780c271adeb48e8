import type { Observable } from 'rxjs';

import type { HttpRequest, HttpResponse } from '../model/http.ts';

/**
 * One door over HTTP; a server mounts it.
 *
 * Promises: `handle` is cold and emits exactly one answer, then completes; unsubscribing (the client went away) stops
 * waiting. An `error` is a bug or a {@link LarkspurError}; the server turns it into a problem.
 */
export interface HttpRoute {
  readonly method: 'DELETE' | 'GET' | 'POST' | 'PUT';
  /** Path with `:name` for parameters. */
  readonly path: string;
  /** Whether anybody may ask, token or not: probes, and doors that verify their callers themselves. Default false. */
  readonly open?: boolean;
  /** Whether the tokens of clients open it, too. Default false. */
  readonly clients?: boolean;
  /** Largest body in bytes. Default: the server's. */
  readonly maxBodyBytes?: number;
  /** Whether its access lines are only worth the level `debug`: probes and scrapes. Default false. */
  readonly quiet?: boolean;
  handle(request: HttpRequest): Observable<HttpResponse>;
}
