import type { Result } from '../model/result.ts';
import { ShapeBook } from '../operators/drift/shape-book.ts';
import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import type { Metrics } from '../ports/metrics.ts';

import type { Job } from './job.ts';

/** What watching needs. */
interface WatchContext {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

const numbered = /[^/]*\d[^/]*/g;

/** Takes each live answer. Never changes it. */
export type WatchShapes = (job: Job, result: Result) => void;

/**
 * Returns what looks at live answers, and logs and counts each field that is something else than it was: an upstream has
 * changed, and who reads its answers may stumble. The call itself does not fail for it.
 */
export function watchShapes({ clock, log, metrics }: WatchContext): WatchShapes {
  const book = new ShapeBook();
  const drifts = metrics.counter('larkspur_schema_drift_total', 'Fields of answers that changed their type', [
    'upstream',
    'api',
  ]);
  return ({ destination: { name: upstream, tokens }, plan: { api }, call }, { source, response }) => {
    if (source !== 'live' || typeof response?.body !== 'object') return;
    // A plain upstream has one label for all of its paths, and what differs by the path alone is one thing with many ids.
    const shape = tokens === undefined ? `${api} ${call.path.replaceAll(numbered, '*')}` : `${upstream} ${api}`;
    for (const drift of book.look(shape, response.body, clock.now())) {
      drifts.add({ upstream, api });
      log.warn({ upstream, api, ...drift }, 'a field of the answers changed its type');
    }
  };
}
