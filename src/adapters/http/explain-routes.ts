import { map, type Observable } from 'rxjs';

import type { Explanation } from '../../model/explanation.ts';
import { jsonResponse } from '../../model/http.ts';
import type { HttpRoute } from '../../ports/http-route.ts';

/** Explains a record by `TOPIC/PARTITION/OFFSET` or the id of its call. */
export interface ExplainDesk {
  explain(ref: string): Observable<Explanation>;
}

/**
 * `GET /admin/explain/{ref}` (percent-encoded) and `GET /admin/explain/{topic}/{partition}/{offset}`: where a record is,
 * what it waits for and until when, what comes next, how it ended.
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
  return [byRef, byPlace];
}
