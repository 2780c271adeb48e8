import type { HotKey } from '../operators/cache/hot-keys.ts';
import type { House } from '../pipeline/house.ts';
import type { Metrics } from '../ports/metrics.ts';

import type { LiveRoutes } from './live-routes.ts';

/** A hot key, and where it is one: `events`, or `reads` of an upstream. */
export interface PlacedHotKey extends HotKey {
  readonly where: string;
}

/** What most events and most kept answers are about at present, as far as this process sees it. */
export function hotKeysOf(
  live: Pick<LiveRoutes, 'hot'> | undefined,
  house: Pick<House, 'instruments'> | undefined,
): readonly PlacedHotKey[] {
  const events = (live?.hot() ?? []).map((key) => ({ where: 'events', ...key }));
  return [...events, ...(house?.instruments.hotReads() ?? [])];
}

/** Shows them to who scrapes: ten of each place at most, each as long as it is hot. */
export function showHotKeys(metrics: Metrics, hot: () => readonly PlacedHotKey[]): void {
  metrics.gauge(
    'larkspur_hot_key_per_second',
    'Keys that a large part of the events, or of the reads of an upstream, is about; ten each at most',
    ['where', 'key'],
    () => hot().map(({ where, key, perSecond }) => [{ where, key: key.slice(0, 160) }, perSecond]),
  );
}
