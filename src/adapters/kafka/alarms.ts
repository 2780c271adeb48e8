import type { EachBatchPayload } from 'kafkajs';

import type { Logger } from '../../ports/logger.ts';

interface Member {
  readonly group: string;
  readonly logger: Logger;
}

/** Every batch of the driver knows where it was asked to start; only its types do not. */
export type FetchedBatch = EachBatchPayload['batch'] & { readonly fetchedOffset?: string };

/** The driver only fetches from elsewhere than asked when retention has taken what was asked for. */
export function tellJump(
  { logger, group }: Member,
  { topic, partition, fetchedOffset }: FetchedBatch,
  next: number,
): void {
  const missed = Number(fetchedOffset ?? next) - next;
  if (missed <= 0) return;
  const fields = { group, topic, partition, from: next, missed };
  logger.error(fields, 'retention was faster than the group; reading goes on at the start of the log');
}

/** Seen by the member that assigns. While a release is rolled out it may be meant. */
export function tellMixed({ logger, group }: Member, topics: readonly string[]): void {
  logger.error({ group, topics }, 'not all members of the group read these topics: give others a group of their own');
}
