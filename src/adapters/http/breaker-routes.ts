import { map, type Observable, of } from 'rxjs';

import { type Fault, type HttpRequest, type HttpResponse, jsonResponse, problemResponse } from '../../model/http.ts';
import type { ForcedState } from '../../operators/breaker/permit.ts';
import type { HttpRoute } from '../../ports/http-route.ts';

import { invalidRequest } from './invalid-request.ts';
import { isShortText, type Order, readOrder } from './orders.ts';

/** What a person asks of the breakers of an upstream. */
export interface BreakerOrder extends Order {
  readonly upstream: string;
  /** One of them; `undefined`: all, those to come among them. */
  readonly breaker: string | undefined;
  /** `undefined`: they decide by themselves again. */
  readonly state: ForcedState | undefined;
}

/** What came of it: done, and whether the topic `audit` has it already; or why not. */
export type BreakerOrdered =
  | { readonly kind: 'done'; readonly audited: boolean; readonly breakers: unknown }
  | { readonly kind: 'unknown'; readonly message: string };

/** Who carries out orders. */
export interface BreakerDesk {
  /** All breakers of all upstreams, as JSON. */
  show(): unknown;
  order(order: BreakerOrder): Observable<BreakerOrdered>;
}

const states = ['open', 'closed', 'metrics-only', 'auto'] as const;
const fresh = { 'cache-control': 'no-store' };

/**
 * The doors for breakers: `GET /admin/breakers` shows them; `PUT /admin/breakers/{upstream}` with
 * `{"state":"open","by":"ana","reason":"..."}` isolates an upstream (`open`), lets all through (`closed`, `metrics-only`), or
 * lets them decide again (`auto`); `"breaker"` names one of several. Acts at once and leaves a record on `audit`.
 */
export function breakerRoutes(desk: BreakerDesk): readonly HttpRoute[] {
  const show: HttpRoute = {
    method: 'GET',
    path: '/admin/breakers',
    handle: () => of(jsonResponse(200, desk.show(), fresh)),
  };
  const order: HttpRoute = {
    method: 'PUT',
    path: '/admin/breakers/:upstream',
    handle: (request) => {
      const read = readBreakerOrder(request);
      return 'faults' in read ? of(invalidRequest(read.faults)) : desk.order(read).pipe(map(answered));
    },
  };
  return [show, order];
}

function readBreakerOrder(request: HttpRequest): BreakerOrder | { readonly faults: readonly Fault[] } {
  const read = readOrder(request, ['state', 'breaker'], ({ state, breaker }, report) => {
    if (!states.some((name) => name === state)) report('/state', `must be one of ${states.join(', ')}`);
    if (breaker !== undefined && !isShortText(breaker, 300)) report('/breaker', 'must be 1 to 300 characters');
  });
  if (read.faults !== undefined) return read;
  const { state, breaker } = read.tree;
  const known = states.find((name) => name === state);
  return {
    upstream: request.params['upstream'] ?? '',
    breaker: breaker as string | undefined,
    state: known === 'auto' ? undefined : known,
    ...read.order,
  };
}

function answered(ordered: BreakerOrdered): HttpResponse {
  if (ordered.kind === 'done') {
    return jsonResponse(200, { audited: ordered.audited, breakers: ordered.breakers }, fresh);
  }
  return problemResponse({ status: 404, code: 'not_found', title: 'No such breaker', detail: ordered.message });
}
