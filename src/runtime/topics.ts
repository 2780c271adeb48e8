import { createKafkaAdmin } from '../adapters/kafka/admin.ts';
import { systemTimers } from '../adapters/system/clock.ts';
import type { KafkaConfig } from '../config/config.ts';
import { topicDeclarations } from '../model/topics.ts';
import type { Logger } from '../ports/logger.ts';
import type { TopicAdmin } from '../ports/topic-admin.ts';

import { planTopics, type TopicPlan, type TopicStep } from './topics-plan.ts';

/** Runs `work` with an administrator of topics and closes it. Rejects with what `work` or the cluster says. */
export async function withTopicAdmin<T>(
  kafka: KafkaConfig,
  logger: Logger,
  work: (admin: TopicAdmin) => Promise<T>,
): Promise<T> {
  const admin = createKafkaAdmin({ client: kafka, prefix: kafka.topicPrefix, timers: systemTimers, logger });
  try {
    return await work(admin);
  } finally {
    await admin.close();
  }
}

/** What would bring the topics of a cluster to their declarations. Changes nothing. */
export async function topicPlan(admin: TopicAdmin): Promise<TopicPlan> {
  const [{ brokers }, actual] = await Promise.all([
    admin.cluster(),
    admin.describe(topicDeclarations.map(({ name }) => name)),
  ]);
  return planTopics(topicDeclarations, actual, brokers);
}

/** Takes the steps of a plan in order; those before a failure stay taken. */
export async function applyPlan(
  admin: TopicAdmin,
  { steps }: TopicPlan,
  done: (step: TopicStep) => void,
): Promise<void> {
  for (const step of steps) {
    switch (step.kind) {
      case 'create':
        await admin.create([step.topic]);
        break;
      case 'add-partitions':
        await admin.addPartitions(step.name, step.to);
        break;
      case 'set':
        await admin.setSettings(step.name, step.settings);
        break;
    }
    done(step);
  }
}
