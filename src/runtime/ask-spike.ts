import type { Config } from '../config/config.ts';
import { LarkspurError } from '../model/errors.ts';
import { type MinuteView, type Spike, spikeOf, together } from '../model/spike.ts';

import { askEach } from './admin-client.ts';

/**
 * Asks the workers behind some admin ports what stood together in a minute, and puts what they say together. Workers that do
 * not answer, or in which no call ended then, are left out. Rejects with what one of them said when none tells.
 * @param urls default: the configured admin port
 */
export async function askSpike(config: Config, urls: readonly string[], minuteMs: number): Promise<Spike> {
  const path = `/admin/spikes/${minuteMs}`;
  const { answers, refusal, absence } = await askEach<MinuteView>(config, urls, { path });
  const view = together(answers);
  if (view !== undefined) return spikeOf(view);
  throw refusal ?? absence ?? new LarkspurError('not_found', 'no worker was asked');
}
