import { map, type Observable, of } from 'rxjs';

import { isDateTime } from '../../model/date-time.ts';
import { type HttpRequest, type HttpResponse, jsonResponse } from '../../model/http.ts';
import { isoTime } from '../../model/time.ts';
import type { HttpRoute } from '../../ports/http-route.ts';

import { invalidRequest } from './invalid-request.ts';

/** Who knows what happened. Times are ISO 8601. */
export interface ReviewDesk {
  /** Changes by people, files and playbooks, out of the topic `audit`. */
  audit(from: string, to: string): Observable<readonly unknown[]>;
  /** What this process saw: breakers, scores, budgets, Redis. */
  happenings(from: string, to: string): readonly unknown[];
}

const fresh = { 'cache-control': 'no-store' };
const begin = '0000-01-01T00:00:00.000Z';
const end = '9999-12-31T23:59:59.999Z';

/**
 * `GET /admin/audit?from=&to=`: who changed what, when and why; `GET /admin/happenings?from=&to=`: what this process saw. Oldest first;
 * without a time everything that there is.
 */
export function reviewRoutes(desk: ReviewDesk): readonly HttpRoute[] {
  const audit: HttpRoute = {
    method: 'GET',
    path: '/admin/audit',
    handle: (request) =>
      within(request, (from, to) => desk.audit(from, to).pipe(map((entries) => jsonResponse(200, { entries }, fresh)))),
  };
  const happenings: HttpRoute = {
    method: 'GET',
    path: '/admin/happenings',
    handle: (request) =>
      within(request, (from, to) => of(jsonResponse(200, { happenings: desk.happenings(from, to) }, fresh))),
  };
  return [audit, happenings];
}

function within({ query }: HttpRequest, answer$: (from: string, to: string) => Observable<HttpResponse>) {
  const { from = begin, to = end } = query;
  const wrong = Object.entries({ from, to }).filter(([, time]) => !isDateTime(time));
  if (wrong.length > 0) {
    const message = 'must be a point in time as in 2026-01-31T12:00:00Z';
    return of(invalidRequest(wrong.map(([at]) => ({ at, message }))));
  }
  return answer$(isoTime(Date.parse(from)), isoTime(Date.parse(to)));
}
