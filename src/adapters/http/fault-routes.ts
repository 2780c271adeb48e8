import { map, type Observable, of } from 'rxjs';

import { type Fault, type HttpRequest, type HttpResponse, jsonResponse, problemResponse } from '../../model/http.ts';
import type { HttpRoute } from '../../ports/http-route.ts';

import { invalidRequest } from './invalid-request.ts';
import { type Order, readOrder } from './orders.ts';

/** What a person, or a chaos run, asks of the faults. */
export interface FaultOrder extends Order {
  /** As they were written; the desk reads them. Empty: no faults but those of the file. */
  readonly rules: unknown;
  /** How long they hold, milliseconds; then they go by themselves. */
  readonly forMs: number;
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
      const read = readFaultOrder(request);
      return 'faults' in read ? of(invalidRequest(read.faults)) : desk.order(read).pipe(map(answered));
    },
  };
  return [show, order];
}

function readFaultOrder(request: HttpRequest): FaultOrder | { readonly faults: readonly Fault[] } {
  const read = readOrder(request, ['rules', 'forMs'], ({ rules, forMs = defaultForMs }, report) => {
    if (typeof forMs !== 'number' || !Number.isInteger(forMs) || forMs < 1 || forMs > longestForMs) {
      report('/forMs', `must be a whole number from 1 to ${longestForMs}`);
    }
    if (!Array.isArray(rules)) report('/rules', 'must be a list');
  });
  if (read.faults !== undefined) return read;
  const { rules, forMs = defaultForMs } = read.tree;
  return { rules, forMs: forMs as number, ...read.order };
}

function answered(ordered: FaultOrdered): HttpResponse {
  switch (ordered.kind) {
    case 'done':
      return jsonResponse(200, { audited: ordered.audited, faults: ordered.faults }, fresh);
    case 'wrong':
      return invalidRequest(ordered.faults);
    case 'off':
      return problemResponse({ status: 403, code: 'forbidden', title: 'Faults are off', detail: ordered.message });
  }
}
