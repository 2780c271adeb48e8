import { defer, finalize, map, tap } from 'rxjs';

import type { HttpRequest } from '../model/http.ts';
import { readTraceparent, traceHeaders, traceparentOf } from '../model/trace-context.ts';
import type { Traces } from '../operators/trace/traces.ts';
import type { HttpRoute } from '../ports/http-route.ts';

/**
 * Doors whose requests are spans: what comes through one carries its span on, and the answer names it in `traceresponse`.
 * Whether a trace is kept is decided here, unless the client has, and everybody after it keeps to that.
 */
export function tracedDoors(doors: readonly HttpRoute[], traces: Traces): readonly HttpRoute[] {
  return doors.map((door) => ({ ...door, handle: (request) => defer(() => handle(door, request, traces)) }));
}

function handle(door: HttpRoute, request: HttpRequest, traces: Traces): ReturnType<HttpRoute['handle']> {
  const { [traceHeaders.parent]: given, [traceHeaders.state]: state, ...others } = request.headers;
  const parent = readTraceparent(given);
  const context = traces.below(parent);
  const traceparent = traceparentOf(context);
  const headers = {
    ...others,
    [traceHeaders.parent]: traceparent,
    // It belongs to the parent: without one it means nothing.
    ...(parent === undefined || state === undefined ? {} : { [traceHeaders.state]: state }),
  };
  const answer$ = door.handle({ ...request, headers });
  if (!context.sampled) return answer$;
  const fromMs = traces.nowMs();
  let status: number | undefined;
  let error: string | undefined = 'client_gone';
  return answer$.pipe(
    tap({
      next: (response) => {
        ({ status } = response);
        error = status >= 500 ? String(status) : undefined;
      },
      error: () => (error = 'failed'),
    }),
    map((response) => ({ ...response, headers: { ...response.headers, [traceHeaders.response]: traceparent } })),
    finalize(() =>
      traces.end({
        name: `${door.method} ${door.path}`,
        kind: 'server',
        context,
        parentId: parent?.spanId,
        startMs: traces.epochMs(fromMs),
        endMs: traces.epochMs(traces.nowMs()),
        attributes: {
          'http.request.method': door.method,
          'http.route': door.path,
          'http.request.body.size': request.body.length,
          'http.response.status_code': status,
          'error.type': error,
        },
        links: [],
        error,
      }),
    ),
  );
}
