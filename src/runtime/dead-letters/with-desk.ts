import { systemClock, systemRandom, systemTimers } from '../../adapters/system/clock.ts';
import type { Config } from '../../config/config.ts';
import { coverOf } from '../../config/describe.ts';
import type { DeadLetterDesk } from '../../ports/dead-letter-desk.ts';
import type { Logger } from '../../ports/logger.ts';
import { noMetrics } from '../../ports/metrics.ts';
import { adminAddress } from '../admin-client.ts';
import { openUnlessHeld } from '../open-unless-held.ts';
import type { WorldParts } from '../stores.ts';

import { LocalDesk } from './desk.ts';
import { RemoteDesk } from './remote.ts';

export type {
  DeadLetterDetail,
  DeadLetterLine,
  DeadLetterList,
  RedrivePreview,
  RunView,
} from '../../ports/dead-letter-desk.ts';

/** What a command asks of a desk, wherever it stands. */
export type CommandDesk = Omit<DeadLetterDesk, 'runs'>;

/**
 * Runs `work` with a desk: on Kafka and Redis by their addresses, on the data folder, or (with `url`, or when another
 * process holds the folder) over an admin port. Rejects with what `work` or the stores say.
 */
export async function withDesk<T>(
  config: Config,
  log: Logger,
  url: string | undefined,
  work: (desk: CommandDesk) => Promise<T>,
): Promise<T> {
  const parts: WorldParts = { clock: systemClock, timers: systemTimers, random: systemRandom, log, metrics: noMetrics };
  const stores = url === undefined ? openUnlessHeld(config, parts) : undefined;
  if (stores === undefined) return work(remoteDesk(config, url));
  const desk = new LocalDesk(stores, parts, coverOf(config));
  try {
    return await work(desk);
  } finally {
    await desk.close();
    await stores.close();
  }
}

/** The desk behind the configured admin port, or behind another one. */
export function remoteDesk(config: Config, url?: string): RemoteDesk {
  return new RemoteDesk(adminAddress(config, url));
}
