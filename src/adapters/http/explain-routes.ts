import { map, type Observable, of } from 'rxjs';

import type { Explanation } from '../../model/explanation.ts';
import { type HttpResponse, jsonResponse, problemResponse } from '../../model/http.ts';
import type { MinuteView } from '../../model/spike.ts';
import type { HttpRoute } from '../../ports/http-route.ts';

import { invalidRequest } from './invalid-request.ts';

/** Explains a record by `TOPIC/PARTITION/OFFSET` or the id of its call. */
export interface ExplainDesk {
  explain(ref: string): Observable<Explanation>;
  /** What is known of the minute that holds a moment, epoch milliseconds; `undefined`: no call ended in it here. */
  minute(atMs: number): MinuteView | undefined;
}

/**
 * `GET /admin/explain/{ref}` (percent-encoded) and `GET /admin/explain/{topic}/{partition}/{offset}`: where a record is,
 * what it waits for and until when, what comes next, how it ended. `GET /admin/spikes/{at}` (epoch milliseconds): what the
 * calls that ended in that minute spent their time with, and those of the hour before; 404 where there were none.
 */
export function explainRoutes(desk: ExplainDesk): readonly HttpRoute[] {
  const answer$ = (ref: string) =>
    desk.explain(ref).pipe(map((explanation) => jsonResponse(200, explanation, { 'cache-control': 'no-store' })));
  const byRef: HttpRoute = {
    method: 'GET',
    path: '/admin/explain/:ref',
    handle: ({ params: { ref = '' } }) => answer$(ref),
  };
  const byPlace: HttpRoute = {
    method: 'GET',
    path: '/admin/explain/:topic/:partition/:offset',
    handle: ({ params: { topic = '', partition = '', offset = '' } }) => answer$(`${topic}/${partition}/${offset}`),
  };
  const spike: HttpRoute = {
    method: 'GET',
    path: '/admin/spikes/:at',
    handle: ({ params: { at = '' } }) => of(minuteAnswer(at, desk)),
  };
  return [byRef, byPlace, spike];
}

function minuteAnswer(at: string, desk: ExplainDesk): HttpResponse {
  if (!/^\d{1,15}$/.test(at)) return invalidRequest([{ at: 'at', message: 'must be epoch milliseconds' }]);
  const view = desk.minute(Number(at));
  if (view !== undefined) return jsonResponse(200, view, { 'cache-control': 'no-store' });
  const detail = 'In this process no call ended in that minute, or it is more than 24 hours ago.';
  return problemResponse({ status: 404, code: 'not_found', title: 'Nothing is known of that minute', detail });
}
