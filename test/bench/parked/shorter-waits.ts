// Loaded before a worker of the bench: the delay topics hold their records for other times. What is due when does not change.
import { delayTiers } from '../../../src/model/delay-topics.ts';

/** Where a worker finds them: milliseconds, shortest first. */
const variable = 'LARKSPUR_BENCH_WAITS_MS';

for (const [index, ms] of (process.env[variable] ?? '').split(',').entries()) {
  const tier = delayTiers[index] as { waitMs: number } | undefined;
  if (tier !== undefined && Number(ms) > 0) tier.waitMs = Number(ms);
}
