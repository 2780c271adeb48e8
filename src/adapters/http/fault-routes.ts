import { map, type Observable, of } from 'rxjs';

import { type Fault, type HttpRequest, type HttpResponse, jsonResponse, problemResponse } from '../../model/http.ts';
import { isTree } from '../../model/schema-words.ts';
import type { HttpRoute } from '../../ports/http-route.ts';

/** What a person, or a chaos run, asks of the faults. */
export interface FaultOrder {
  /** As they were written; the desk reads them. Empty: no faults but those of the file. */
  readonly rules: unknown;
  /** How long they hold, milliseconds; then they go by themselves. */
  readonly forMs: number;
  readonly by: string;
  readonly reason: string | undefined;
  readonly requestId: string | undefined;
}

/** What came of it: done, and whether the topic `audit` has it already; or why not. */
export type FaultOrdered =
  | { readonly kind: 'done'; readonly audited: boolean; readonly faults: unknown }
  | { readonly kind: 'wrong'; readonly faults: readonly Fault[] }
  | { readonly kind: 'off'; readonly message: string };

/** Who carries out orders. */
export interface FaultDesk {
  /** Rules in force, what they did, until when. */
  show(): unknown;
  order(order: FaultOrder): Observable<FaultOrdered>;
}

const fresh = { 'cache-control': 'no-store' };
const defaultForMs = 600_000;
/** The longest time that faults may be ordered for. */
export const longestForMs = 86_400_000;

/**
 * The doors for faults on purpose: `GET /admin/faults` shows them; `PUT /admin/faults` with
 * `{"rules":[{"kind":"503","rate":0.1,"match":{"upstream":"news"}}],"by":"ana","reason":"...","forMs":60000}` sets them for a time (10 min
 * unless given, at most a day), an empty list ends them. 403 unless `chaos.injectFaults` is on. Leaves a record on `audit`.
 */
export function faultRoutes(desk: FaultDesk): readonly HttpRoute[] {
  const show: HttpRoute = {
    method: 'GET',
    path: '/admin/faults',
    handle: () => of(jsonResponse(200, desk.show(), fresh)),
  };
  const order: HttpRoute = {
    method: 'PUT',
    path: '/admin/faults',
    handle: (request) => {
      const read = readOrder(request);
      return 'faults' in read ? of(invalid(read.faults)) : desk.order(read).pipe(map(answered));
    },
  };
  return [show, order];
}

function readOrder({ headers, body }: HttpRequest): FaultOrder | { readonly faults: readonly Fault[] } {
  const tree = parsed(body);
  if (!isTree(tree)) return { faults: [{ at: '', message: 'must be a JSON object' }] };
  const { rules, by, reason, forMs = defaultForMs } = tree;
  const faults: Fault[] = [];
  if (!isShortText(by, 100)) faults.push({ at: '/by', message: 'must name who asks, 1 to 100 characters' });
  if (reason !== undefined && !isShortText(reason, 500)) {
    faults.push({ at: '/reason', message: 'must be 1 to 500 characters' });
  }
  if (typeof forMs !== 'number' || !Number.isInteger(forMs) || forMs < 1 || forMs > longestForMs) {
    faults.push({ at: '/forMs', message: `must be a whole number from 1 to ${longestForMs}` });
  }
  if (!Array.isArray(rules)) faults.push({ at: '/rules', message: 'must be a list' });
  for (const name of Object.keys(tree)) {
    if (!['rules', 'by', 'reason', 'forMs'].includes(name)) faults.push({ at: `/${name}`, message: 'is not known' });
  }
  if (faults.length > 0) return { faults };
  return {
    rules,
    forMs: forMs as number,
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

function isShortText(value: unknown, most: number): value is string {
  return typeof value === 'string' && value.length >= 1 && value.length <= most;
}

function answered(ordered: FaultOrdered): HttpResponse {
  switch (ordered.kind) {
    case 'done':
      return jsonResponse(200, { audited: ordered.audited, faults: ordered.faults }, fresh);
    case 'wrong':
      return invalid(ordered.faults);
    case 'off':
      return problemResponse({ status: 403, code: 'forbidden', title: 'Faults are off', detail: ordered.message });
  }
}

function invalid(faults: readonly Fault[]): HttpResponse {
  const detail = faults.map(({ at, message }) => `${at} ${message}`).join('; ');
  return problemResponse({ status: 400, code: 'bad_request', title: 'Not a valid request', detail, faults });
}
