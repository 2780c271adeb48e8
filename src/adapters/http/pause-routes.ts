import { map, type Observable, of } from 'rxjs';

import { jsonResponse, problemResponse } from '../../model/http.ts';
import type { HttpRoute } from '../../ports/http-route.ts';

import { invalidRequest } from './invalid-request.ts';
import { type Order, readOrder } from './orders.ts';

/** What a person asks for an upstream. */
export interface PauseOrder extends Order {
  readonly upstream: string;
  readonly paused: boolean;
}

/** Who carries it out. */
export interface PauseDesk {
  /** Emits whether the topic `audit` has it already; `undefined` when there is no such upstream in this process. */
  order(order: PauseOrder): Observable<boolean | undefined>;
}

/**
 * `PUT /admin/pauses/{upstream}` with `{"paused":true,"by":"ana","reason":"..."}`: no call to it begins, none gets a fallback, those
 * under way end; `false` lets it go on, whoever paused it. Acts at once and leaves a record on `audit`.
 */
export function pauseRoutes(desk: PauseDesk): readonly HttpRoute[] {
  const order: HttpRoute = {
    method: 'PUT',
    path: '/admin/pauses/:upstream',
    handle: (request) => {
      const { upstream = '' } = request.params;
      const read = readOrder(request, ['paused'], ({ paused }, report) => {
        if (typeof paused !== 'boolean') report('/paused', 'must be true or false');
      });
      if (read.faults !== undefined) return of(invalidRequest(read.faults));
      const paused = read.tree['paused'] === true;
      return desk.order({ upstream, paused, ...read.order }).pipe(
        map((audited) => {
          if (audited !== undefined)
            return jsonResponse(200, { upstream, paused, audited }, { 'cache-control': 'no-store' });
          const detail = `there is no upstream ${upstream} in this process`;
          return problemResponse({ status: 404, code: 'not_found', title: 'No such upstream', detail });
        }),
      );
    },
  };
  return [order];
}
