import { RedisConnection } from '../../adapters/redis/client.ts';
import { redisFindings } from '../../adapters/redis/findings.ts';
import { systemClock, systemRandom, systemTimers } from '../../adapters/system/clock.ts';
import type { Config, KafkaConfig } from '../../config/config.ts';
import type { Logger } from '../../ports/logger.ts';
import { noMetrics } from '../../ports/metrics.ts';
import type { TopicStep } from '../topics-plan.ts';
import { topicPlan, withTopicAdmin } from '../topics.ts';

import { bad, badFrom, type Finding, ok, warn } from './finding.ts';
import { profileFindings } from './profiles.ts';

/** Whether the brokers answer, the topics are as declared, and no group of a former profile has something left. */
export async function kafkaFindings(
  kafka: KafkaConfig,
  profiles: readonly string[],
  logger: Logger,
): Promise<Finding[]> {
  const reach = `start Kafka or correct kafka.brokers (${kafka.brokers.join(', ')})`;
  try {
    return await withTopicAdmin(kafka, logger, async (admin) => {
      const { brokers, clusterId } = await admin.cluster();
      const { steps, refusals, notes } = await topicPlan(admin);
      const findings = [ok('kafka', `cluster ${clusterId}, ${brokers} broker${brokers === 1 ? '' : 's'}`)];
      for (const refusal of refusals) findings.push(bad('topics', refusal, 'see the message'));
      for (const note of notes) findings.push(warn('topics', note, 'decide whether that is meant'));
      if (steps.length > 0) {
        findings.push(
          bad(
            'topics',
            notAsDeclared(steps),
            '`larkspur topics plan` shows the changes, `larkspur topics apply` makes them',
          ),
        );
      } else if (refusals.length === 0) findings.push(ok('topics', 'as declared'));
      if (steps.length === 0) findings.push(...(await profileFindings(admin, kafka.group, profiles)));
      return findings;
    });
  } catch (error) {
    return [badFrom('kafka', error, reach)];
  }
}

function notAsDeclared(steps: readonly TopicStep[]): string {
  const named = (missing: boolean): string =>
    steps
      .filter(({ kind }) => (kind === 'create') === missing)
      .map((step) => (step.kind === 'create' ? step.topic.name : step.name))
      .join(', ');
  const [missing, different] = [named(true), named(false)];
  return [missing && `missing: ${missing}`, different && `not as declared: ${different}`].filter(Boolean).join('; ');
}

const connectLimitMs = 3_000;

// What works all the same, less well.
const advised = new Set(['redis-clock', 'redis-replicas']);

/** Whether Redis answers, is new enough, never evicts, and agrees about the time. */
export async function redisFindingsOf(redis: NonNullable<Config['redis']>, logger: Logger): Promise<Finding[]> {
  const connection = new RedisConnection({
    url: redis.url,
    cluster: redis.cluster,
    clock: systemClock,
    timers: systemTimers,
    random: systemRandom,
    logger,
    metrics: noMetrics,
  });
  try {
    await untilReady(connection);
    const found = await redisFindings(connection, systemClock, redis.replicas);
    return found.map(({ name, ok: fine, message, cure }) => {
      if (fine) return ok(name, message);
      const advice = cure === '' ? 'start Redis or correct redis.url' : cure;
      return advised.has(name) ? warn(name, message, advice) : bad(name, message, advice);
    });
  } finally {
    await connection.close();
  }
}

async function untilReady(connection: RedisConnection): Promise<void> {
  const endMs = systemClock.now() + connectLimitMs;
  while (!connection.ready() && systemClock.now() < endMs) {
    await new Promise<void>((resolve) => void setTimeout(resolve, 20));
  }
}
