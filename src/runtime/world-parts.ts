import { createLogger } from '../adapters/pino/logger.ts';
import { createMetrics, type ScrapableMetrics } from '../adapters/prometheus/metrics.ts';
import { systemClock, systemRandom, systemTimers } from '../adapters/system/clock.ts';
import { HostFiles } from '../adapters/system/host-files.ts';
import { hostMetrics } from '../adapters/system/host-metrics.ts';
import { hostCounts } from '../adapters/system/network-counts.ts';
import type { Config } from '../config/config.ts';

import type { WorldParts } from './stores.ts';

/** Clock, timers, chance, log and metrics of a process. @param secrets texts that must never stand in the log */
export function worldParts(
  config: Config,
  secrets: readonly string[],
): WorldParts & { readonly metrics: ScrapableMetrics } {
  const metrics = createMetrics({ exemplars: config.tracing !== undefined });
  const host = new HostFiles(systemClock);
  hostMetrics(metrics, host);
  return {
    clock: systemClock,
    timers: systemTimers,
    random: systemRandom,
    log: createLogger({ level: config.logLevel, secrets }),
    metrics,
    hostCounts: () => hostCounts(host),
  };
}
