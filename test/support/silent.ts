import type { Logger } from '../../src/ports/logger.ts';
import type { Metrics } from '../../src/ports/metrics.ts';

const nothing = (): void => undefined;

/** A log that keeps nothing. */
export const noLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing, child: () => noLogger };

/** Instruments that measure nothing. */
export const noMetrics: Metrics = {
  counter: () => ({ add: nothing }),
  histogram: () => ({ observe: nothing }),
  gauge: nothing,
};
