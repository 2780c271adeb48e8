import type { Admin, Kafka } from 'kafkajs';

import type { Logger } from '../../ports/logger.ts';

import { coPartitioned } from './assigner.ts';
import type { GroupTuning } from './life.ts';
import { readPositions } from './positions.ts';

/** What the first offsets of a group are made from. */
export interface FirstOffsetsParts {
  readonly kafka: Kafka;
  /** Connected. */
  readonly admin: Admin;
  readonly group: string;
  /** The group that it starts as. */
  readonly startsAs: string;
  /** Full names. */
  readonly topics: readonly string[];
  readonly tuning: GroupTuning;
  readonly logger: Logger;
  /** Settles when nobody waits any more. */
  readonly closed: Promise<unknown>;
}

/**
 * Lets a group that has committed nothing in its topics start where another one is, and keeps that: a start that was only read would
 * move on with the other group until the first commit, and what lies between be lost. All partitions are committed at once, by
 * a member: of several that begin together each sees what the others have kept. Rejects with the driver's error.
 */
export async function keepFirstOffsets(parts: FirstOffsetsParts): Promise<void> {
  const { kafka, admin, group, startsAs, tuning, logger, closed } = parts;
  const topics = [...parts.topics];
  const begun = async (): Promise<boolean> => {
    const committed = await admin.fetchOffsets({ groupId: group, topics });
    return committed.some(({ partitions }) => partitions.some(({ offset }) => Number(offset) >= 0));
  };
  if (await begun()) return;
  const consumer = kafka.consumer({
    groupId: group,
    // That of the members to come, with whom it may share the group for a moment.
    partitionAssigners: [
      coPartitioned(
        () => [],
        () => undefined,
      ),
    ],
    sessionTimeout: tuning.sessionTimeoutMs,
    heartbeatInterval: tuning.heartbeatMs,
    rebalanceTimeout: tuning.rebalanceTimeoutMs,
    maxWaitTimeInMs: tuning.maxWaitMs,
    allowAutoTopicCreation: false,
    retry: { restartOnFailure: () => Promise.resolve(false) },
  });
  const { CRASH, GROUP_JOIN } = consumer.events;
  const joined = new Promise<boolean>((resolve, reject) => {
    consumer.on(GROUP_JOIN, () => resolve(true));
    consumer.on(CRASH, ({ payload }) => reject(payload.error));
    void closed.then(() => resolve(false));
  });
  joined.catch(() => undefined);
  try {
    await consumer.connect();
    await consumer.subscribe({ topics, fromBeginning: true });
    await consumer.run({ autoCommit: false, eachBatch: () => Promise.resolve() });
    if (!(await joined) || (await begun())) return;
    const starts = await readPositions(admin, startsAs, topics, logger);
    await consumer.commitOffsets(starts.map((start) => ({ ...start, offset: String(start.offset) })));
    logger.info({ group, startsAs }, 'a new group starts where another one is');
  } finally {
    await consumer.disconnect().catch(() => undefined);
  }
}
