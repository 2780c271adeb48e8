import { Redis } from 'ioredis';
import { Kafka, logLevel } from 'kafkajs';
import { expect, it } from 'vitest';

import { describeWithServices } from '../support/services/provided.ts';

describeWithServices('the services of the tests', (brokers, url) => {
  it('are a real Kafka', async () => {
    const admin = new Kafka({ brokers, logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    const cluster = await admin.describeCluster();
    await admin.disconnect();
    expect(cluster.brokers.length).toBeGreaterThan(0);
  });

  it('are a real Redis', async () => {
    const redis = new Redis(url);
    const server = await redis.info('server');
    redis.disconnect();
    expect(server).toContain('redis_version');
  });
});
