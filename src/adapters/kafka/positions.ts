import type { Admin, TopicPartitionOffsetAndMetadata } from 'kafkajs';

import type { Logger } from '../../ports/logger.ts';
import type { Commit } from '../../ports/record-source.ts';

/** Where a group stands in a partition. */
export interface Position {
  readonly topic: string;
  readonly partition: number;
  /** Offset of the first record to deliver. */
  readonly offset: number;
  readonly metadata: string | null;
}

const longestMetadata = 4_096;

/** A commit as the driver takes it. @param topic the full name */
export function toStore(topic: string, { partition, offset, metadata }: Commit): TopicPartitionOffsetAndMetadata {
  return {
    topic,
    partition: partition.partition,
    offset: String(offset),
    // Longer ones are refused, while an offset without metadata only means a replay.
    metadata: metadata === '' || metadata.length > longestMetadata ? null : metadata,
  };
}

/**
 * Reads the group's offsets of some topics, with the metadata that the consumer itself never shows. A group that never
 * committed starts at the beginning; so does one whose offset the log does not reach, and that is an alarm: the topic
 * was created anew, or retention was faster than we.
 */
export async function readPositions(
  admin: Admin,
  group: string,
  topics: readonly string[],
  logger: Logger,
): Promise<Position[]> {
  const [committed, ...logs] = await Promise.all([
    admin.fetchOffsets({ groupId: group, topics: [...topics] }),
    ...topics.map(async (topic) => [topic, await admin.fetchTopicOffsets(topic)] as const),
  ]);
  const logOf = new Map(logs.map(([topic, partitions]) => [topic, new Map(partitions.map((p) => [p.partition, p]))]));
  return committed.flatMap(({ topic, partitions }) =>
    partitions.map(({ partition, offset, metadata }) => {
      const log = logOf.get(topic)?.get(partition);
      const low = Number(log?.low ?? 0);
      const high = Number(log?.high ?? Infinity);
      const stored = Number(offset);
      if (stored < 0) return { topic, partition, offset: low, metadata: null };
      if (stored >= low && stored <= high) return { topic, partition, offset: stored, metadata };
      const missed = stored < low ? low - stored : 0;
      logger.error(
        { topic, partition, committed: stored, low, high, missed },
        'the committed offset is outside of the log; reading goes on at its start',
      );
      return { topic, partition, offset: low, metadata: null };
    }),
  );
}
