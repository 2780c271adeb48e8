import { from, map, of } from 'rxjs';

import { jsonResponse, problemResponse } from '../../model/http.ts';
import type { HttpRoute } from '../../ports/http-route.ts';

import { invalidRequest } from './invalid-request.ts';
import { type Order, readOrder } from './orders.ts';

/** Who plays. */
export interface PlaybookDesk {
  /** All playbooks: condition, newest value, state, steps, last run. */
  views(): unknown;
  /** `undefined`: there is none of that name. Rejects never. */
  rehearse(name: string, order: Order): Promise<unknown> | undefined;
  end(name: string, order: Order): Promise<unknown> | undefined;
}

const orders = ['rehearse', 'end'] as const;
const fresh = { 'cache-control': 'no-store' };

/**
 * `GET /admin/playbooks` shows them; `POST /admin/playbooks/{name}` with `{"do":"rehearse","by":"ana"}` says what its steps would do,
 * `"end"` undoes what it did and lets it rest. Either leaves a record on `audit`.
 */
export function playbookRoutes(desk: PlaybookDesk): readonly HttpRoute[] {
  const show: HttpRoute = {
    method: 'GET',
    path: '/admin/playbooks',
    handle: () => of(jsonResponse(200, { playbooks: desk.views() }, fresh)),
  };
  const order: HttpRoute = {
    method: 'POST',
    path: '/admin/playbooks/:name',
    handle: (request) => {
      const { name = '' } = request.params;
      const read = readOrder(request, ['do'], (tree, report) => {
        if (!orders.some((one) => one === tree['do'])) report('/do', `must be one of ${orders.join(', ')}`);
      });
      if (read.faults !== undefined) return of(invalidRequest(read.faults));
      const done = read.tree['do'] === 'end' ? desk.end(name, read.order) : desk.rehearse(name, read.order);
      if (done !== undefined) return from(done).pipe(map((report) => jsonResponse(200, report, fresh)));
      const detail = `there is no playbook ${name} in this process`;
      return of(problemResponse({ status: 404, code: 'not_found', title: 'No such playbook', detail }));
    },
  };
  return [show, order];
}
