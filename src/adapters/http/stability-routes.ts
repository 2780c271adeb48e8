import { of } from 'rxjs';

import { jsonResponse } from '../../model/http.ts';
import type { HttpRoute } from '../../ports/http-route.ts';

/** Who knows how a worker and its upstreams are. */
export interface StabilityDesk {
  /** Scores 0 to 100, and what each part costs. */
  scores(): unknown;
  /** What is connected with one measurement. @param from id of a node; `undefined`: the sickest upstream */
  graph(from: string | undefined): unknown;
  /** Promises: objective, measured, budget left, burn rates. */
  slos(): unknown;
  /** Every value in force and where it came from, without secrets. */
  config(): unknown;
}

const fresh = { 'cache-control': 'no-store' };

/**
 * `GET /admin/health-score`: 0 to 100 for this worker and each upstream, with what each part costs. `GET /admin/stability?from=`:
 * what is connected with a measurement in the same minute. `GET /admin/slo`: promises and how they stand. `GET /admin/config`: every
 * value in force and where it came from.
 */
export function stabilityRoutes(desk: StabilityDesk): readonly HttpRoute[] {
  const scores: HttpRoute = {
    method: 'GET',
    path: '/admin/health-score',
    handle: () => of(jsonResponse(200, desk.scores(), fresh)),
  };
  const graph: HttpRoute = {
    method: 'GET',
    path: '/admin/stability',
    handle: ({ query }) => of(jsonResponse(200, desk.graph(query['from']), fresh)),
  };
  const slos: HttpRoute = {
    method: 'GET',
    path: '/admin/slo',
    handle: () => of(jsonResponse(200, desk.slos(), fresh)),
  };
  const config: HttpRoute = {
    method: 'GET',
    path: '/admin/config',
    handle: () => of(jsonResponse(200, desk.config(), fresh)),
  };
  return [scores, graph, slos, config];
}
