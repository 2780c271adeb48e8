import { of } from 'rxjs';
import { afterEach } from 'vitest';

import { type RunningServer, type ServerOptions, startServer } from '../../../../src/adapters/http/server.ts';
import { jsonResponse } from '../../../../src/model/http.ts';
import type { HttpRoute } from '../../../../src/ports/http-route.ts';
import { noLogger, noMetrics } from '../../../support/silent.ts';

const running: RunningServer[] = [];
afterEach(closeAll);

/** Closes the servers of the test at hand. */
export async function closeAll(): Promise<void> {
  for (const server of running.splice(0)) await server.close();
}

/** Starts a server for one test on a free port. */
export async function start(routes: readonly HttpRoute[], options: Partial<ServerOptions> = {}): Promise<number> {
  const server = await startServer({
    name: 'ingress',
    host: '127.0.0.1',
    port: 0,
    log: noLogger,
    metrics: noMetrics,
    ...options,
    routes,
  });
  running.push(server);
  return server.port;
}

/** A door that asks for the token. */
export const ping: HttpRoute = { method: 'GET', path: '/ping', handle: () => of(jsonResponse(200, {})) };
/** A door that anybody may ask. */
export const probe: HttpRoute = { ...ping, path: '/probe', open: true, quiet: true };
