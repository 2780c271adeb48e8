import { map, type Observable, of } from 'rxjs';

import { type HttpRequest, type HttpResponse, jsonResponse } from '../../model/http.ts';
import { fromAbortable } from '../../operators/interop/from-abortable.ts';
import type { HttpRoute } from '../../ports/http-route.ts';

import { invalidRequest } from './invalid-request.ts';

/** One thing that must be there before work can be taken. Upstreams are none: a sick one must not stop the others. */
export interface ReadinessCheck {
  /** `kafka`, `redis`, `topics` ... */
  readonly name: string;
  readonly ready: boolean;
  /** Why it is not ready and what to do; no secret. */
  readonly reason?: string;
}

/** What the admin doors show. All of it is asked for at each request. */
export interface AdminOptions {
  readonly metrics: {
    page(accept: string | undefined): Promise<{ readonly contentType: string; readonly body: string }>;
  };
  /** Synchronous and cheap: a probe asks every few seconds. */
  readiness(): readonly ReadinessCheck[];
  /** Everything on-call wants to see of the process, as JSON: partitions, lanes, breakers, buckets. */
  status(): unknown;
  /** How each upstream is, as this process sees it. */
  health(): readonly { readonly state: string }[];
  /** The last records of a topic by logical name, oldest first; errors with `not_found` for an unknown topic. */
  tail(topic: string, last: number): Observable<readonly unknown[]>;
}

const defaultTail = 10;
const longestTail = 1_000;

/**
 * The doors of the admin port: `/livez` (the event loop turns), `/readyz` (503 with the reasons while something is
 * missing), `/metrics`, `/admin/status`, `/admin/api-health`, `/admin/topics/{topic}/tail?last=10`. The probes are open to all.
 */
export function adminRoutes(options: AdminOptions): readonly HttpRoute[] {
  // Only an event loop that turns can answer, so answering is the whole check.
  const livez: HttpRoute = {
    ...probe('/livez'),
    handle: () => of(jsonResponse(200, { status: 'alive' }, fresh)),
  };
  const readyz: HttpRoute = {
    ...probe('/readyz'),
    handle: () => {
      const checks = options.readiness();
      const ready = checks.every((check) => check.ready);
      return of(jsonResponse(ready ? 200 : 503, { status: ready ? 'ready' : 'not ready', checks }, fresh));
    },
  };
  const scrape: HttpRoute = {
    method: 'GET',
    path: '/metrics',
    quiet: true,
    handle: ({ headers: { accept } }) =>
      fromAbortable(() => options.metrics.page(accept)).pipe(
        map(({ contentType, body }) => ({ status: 200, headers: { 'content-type': contentType }, body })),
      ),
  };
  const show: HttpRoute = {
    method: 'GET',
    path: '/admin/status',
    handle: () => of(jsonResponse(200, options.status(), fresh)),
  };
  const health: HttpRoute = {
    method: 'GET',
    path: '/admin/api-health',
    handle: () => of(jsonResponse(200, { upstreams: options.health() }, fresh)),
  };
  const last: HttpRoute = {
    method: 'GET',
    path: '/admin/topics/:topic/tail',
    handle: (request) => tailOf(request, options),
  };
  return [livez, readyz, scrape, show, health, last];
}

const fresh = { 'cache-control': 'no-store' };

function probe(path: string) {
  return { method: 'GET', path, open: true, quiet: true } as const;
}

function tailOf({ params, query }: HttpRequest, options: AdminOptions): Observable<HttpResponse> {
  const { topic = '' } = params;
  const text = query['last'] ?? String(defaultTail);
  const last = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (last >= 1 && last <= longestTail) {
    return options.tail(topic, last).pipe(map((records) => jsonResponse(200, { topic, records }, fresh)));
  }
  return of(invalidRequest([{ at: 'last', message: `must be a whole number from 1 to ${longestTail}` }]));
}
