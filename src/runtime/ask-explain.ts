import { systemClock, systemRandom, systemTimers } from '../adapters/system/clock.ts';
import type { Config } from '../config/config.ts';
import { LarkspurError } from '../model/errors.ts';
import type { Explanation } from '../model/explanation.ts';
import type { Logger } from '../ports/logger.ts';
import { noMetrics } from '../ports/metrics.ts';

import { askEach } from './admin-client.ts';
import { explain } from './explain.ts';
import { oneValue } from './one-value.ts';
import { openUnlessHeld } from './open-unless-held.ts';

export type { Explanation, Wait } from '../model/explanation.ts';

// From what tells the most to what tells the least.
const telling: readonly Explanation['where'][] = [
  'under-way',
  'lane',
  'buffer',
  'ended',
  'elsewhere',
  'unread',
  'unknown',
];

/**
 * Asks the workers behind some admin ports about a record, and takes the answer that tells the most; without any that
 * answers, the stores alone. Rejects with `not_found` when neither can be asked.
 * @param urls default: the configured admin port
 */
export async function askExplain(
  config: Config,
  log: Logger,
  urls: readonly string[],
  ref: string,
): Promise<Explanation> {
  const path = `/admin/explain/${encodeURIComponent(ref)}`;
  const { answers, refusal, absence } = await askEach<Explanation>(config, urls, { path });
  const [best] = answers.toSorted((a, b) => telling.indexOf(a.where) - telling.indexOf(b.where));
  if (best !== undefined) return best;
  // Nobody is there: what is stored can still tell. A worker that refused has said why.
  if (refusal !== undefined) throw refusal;
  return fromStores(config, log, ref, absence);
}

async function fromStores(config: Config, log: Logger, ref: string, absence: Error | undefined): Promise<Explanation> {
  const parts = { clock: systemClock, timers: systemTimers, random: systemRandom, log, metrics: noMetrics };
  const stores = openUnlessHeld(config, parts);
  if (stores === undefined) throw absence ?? new LarkspurError('not_found', 'no worker was asked');
  try {
    return await oneValue(explain(ref, stores, undefined));
  } finally {
    await stores.close();
  }
}
