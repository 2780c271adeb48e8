import { map, type Observable, of } from 'rxjs';

import { type Fault, type HttpRequest, type HttpResponse, jsonResponse, problemResponse } from '../../model/http.ts';
import { isTree } from '../../model/schema-words.ts';
import type { ForcedState } from '../../operators/breaker/permit.ts';
import type { HttpRoute } from '../../ports/http-route.ts';

/** What a person asks of the breakers of an upstream. */
export interface BreakerOrder {
  readonly upstream: string;
  /** One of them; `undefined`: all, those to come among them. */
  readonly breaker: string | undefined;
  /** `undefined`: they decide by themselves again. */
  readonly state: ForcedState | undefined;
  readonly by: string;
  readonly reason: string | undefined;
  readonly requestId: string | undefined;
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
      const read = readOrder(request);
      return 'faults' in read ? of(invalid(read.faults)) : desk.order(read).pipe(map(answered));
    },
  };
  return [show, order];
}

function readOrder({ params, headers, body }: HttpRequest): BreakerOrder | { readonly faults: readonly Fault[] } {
  const tree = parsed(body);
  if (!isTree(tree)) return { faults: [{ at: '', message: 'must be a JSON object' }] };
  const { state, by, reason, breaker } = tree;
  const faults: Fault[] = [];
  const known = states.find((name) => name === state);
  if (known === undefined) faults.push({ at: '/state', message: `must be one of ${states.join(', ')}` });
  if (!isShortText(by)) faults.push({ at: '/by', message: 'must name who asks, 1 to 100 characters' });
  for (const [at, value, most] of [['/reason', reason, 500] as const, ['/breaker', breaker, 300] as const]) {
    if (value !== undefined && !isShortText(value, most))
      faults.push({ at, message: `must be 1 to ${most} characters` });
  }
  for (const name of Object.keys(tree)) {
    if (!['state', 'by', 'reason', 'breaker'].includes(name)) faults.push({ at: `/${name}`, message: 'is not known' });
  }
  if (faults.length > 0) return { faults };
  return {
    upstream: params['upstream'] ?? '',
    breaker: breaker as string | undefined,
    state: known === 'auto' ? undefined : known,
    by: by as string,
    reason: reason as string | undefined,
    requestId: headers['x-request-id'],
  };
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

function isShortText(value: unknown, most = 100): value is string {
  return typeof value === 'string' && value.length >= 1 && value.length <= most;
}

function answered(ordered: BreakerOrdered): HttpResponse {
  if (ordered.kind === 'done') {
    return jsonResponse(200, { audited: ordered.audited, breakers: ordered.breakers }, fresh);
  }
  return problemResponse({ status: 404, code: 'not_found', title: 'No such breaker', detail: ordered.message });
}

function invalid(faults: readonly Fault[]): HttpResponse {
  const detail = faults.map(({ at, message }) => `${at === '' ? 'the body' : at} ${message}`).join('; ');
  return problemResponse({ status: 400, code: 'bad_request', title: 'Not a valid request', detail, faults });
}
