import { pino } from 'pino';
import { from, map } from 'rxjs';

import { startServer } from '../../../src/adapters/http/server.ts';
import { createLogger } from '../../../src/adapters/pino/logger.ts';
import { createMetrics } from '../../../src/adapters/prometheus/metrics.ts';
import { systemClock, systemRandom, systemTimers } from '../../../src/adapters/system/clock.ts';
import type { Config } from '../../../src/config/config.ts';
import type { HttpRoute } from '../../../src/ports/http-route.ts';
import { noMetrics } from '../../../src/ports/metrics.ts';
import { openTraces } from '../../../src/runtime/open-traces.ts';
import type { WorldParts } from '../../../src/runtime/stores.ts';

/** How a contestant is watched. */
export interface Watched {
  /** Whether it counts at all. */
  readonly metrics: boolean;
  /** Where it writes a line about each record; absent: nowhere. */
  readonly linesTo?: string;
  readonly traces?: { readonly url: string; readonly sampleRatio: number };
}

/** As the throughput bench has it: metrics that nobody reads, no lines, no traces. */
export const watchedByNobody: Watched = { metrics: true };

/** What stands in the configuration of a contestant that is watched so. */
export function watchedYaml({ linesTo, traces }: Watched): { readonly worker: string; readonly more: string } {
  return {
    worker: `outcomeLines: { successShare: ${linesTo === undefined ? 0 : 1}, perSecond: 100000 }`,
    more: traces === undefined ? '' : `tracing: { endpoint: '${traces.url}', sampleRatio: ${traces.sampleRatio} }`,
  };
}

/** The parts of a process that is watched so. Tells who started it where its metrics are. */
export async function watchedParts(config: Config, { metrics: counts, linesTo }: Watched): Promise<WorldParts> {
  const destination = linesTo === undefined ? {} : { destination: pino.destination({ dest: linesTo, sync: true }) };
  const log = createLogger({ level: linesTo === undefined ? 'warn' : 'info', ...destination });
  const time = { clock: systemClock, timers: systemTimers, random: systemRandom, log };
  if (!counts) return { ...time, metrics: noMetrics };
  const metrics = createMetrics({ exemplars: config.tracing !== undefined });
  const parts = { ...time, metrics };
  const page: HttpRoute = {
    ...{ method: 'GET', path: '/metrics', quiet: true },
    handle: ({ headers }) =>
      from(metrics.page(headers['accept'])).pipe(
        map(({ contentType, body }) => ({ status: 200, headers: { 'content-type': contentType }, body })),
      ),
  };
  const { port } = await startServer({ name: 'admin', host: '127.0.0.1', port: 0, routes: [page], log, metrics });
  process.send?.({ metricsUrl: `http://127.0.0.1:${port}/metrics` });
  return { ...parts, traces: (await openTraces(config, parts))?.traces };
}
