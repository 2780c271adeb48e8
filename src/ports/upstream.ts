import type { Observable } from 'rxjs';

import type { Method } from '../model/call.ts';
import type { Exchange } from '../model/outcome.ts';

/** One HTTP request, complete but for the host, which the upstream decides. */
export interface UpstreamRequest {
  readonly method: Method;
  /** Path and query, encoded. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
}

/**
 * Carries one attempt to one upstream.
 *
 * Promises: cold (one attempt per subscription); exactly one exchange, then completion; no `error` for anything the
 * network does; the attempt ends by itself after `timeoutMs` (kind `attempt-timeout`); unsubscribing aborts the attempt
 * and closes its socket; every response body is read to its end or destroyed.
 * Does not promise that an abandoned attempt had no effect.
 */
export interface Upstream {
  send(request: UpstreamRequest, timeoutMs: number): Observable<Exchange>;
}
