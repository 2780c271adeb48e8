import { systemClock, systemRandom, systemTimers } from '../adapters/system/clock.ts';
import type { Config } from '../config/config.ts';
import { LarkspurError } from '../model/errors.ts';
import type { Explanation } from '../model/explanation.ts';
import type { Logger } from '../ports/logger.ts';
import { noMetrics } from '../ports/metrics.ts';

import { adminAddress, askAdmin } from './admin-client.ts';
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
  const asked = (urls.length > 0 ? urls : [undefined]).map((url) =>
    askAdmin<Explanation>(adminAddress(config, url), { path }),
  );
  const replies = await Promise.allSettled(asked);
  const answers = replies.flatMap((reply) => (reply.status === 'fulfilled' ? [reply.value] : []));
  const [best] = answers.sort((a, b) => telling.indexOf(a.where) - telling.indexOf(b.where));
  if (best !== undefined) return best;
  const failed = replies.find((reply) => reply.status === 'rejected')?.reason as unknown;
  // Nobody is there: what is stored can still tell. A worker that refused has said why.
  if (!(failed instanceof LarkspurError) || !failed.retryable) throw failed;
  return fromStores(config, log, ref, failed);
}

async function fromStores(config: Config, log: Logger, ref: string, failed: LarkspurError): Promise<Explanation> {
  const parts = { clock: systemClock, timers: systemTimers, random: systemRandom, log, metrics: noMetrics };
  const stores = openUnlessHeld(config, parts);
  if (stores === undefined) throw failed;
  try {
    return await oneValue(explain(ref, stores, undefined));
  } finally {
    await stores.close();
  }
}
