import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { TopicAdmin, TopicShape } from '../../src/ports/topic-admin.ts';

/** What an adapter gives so that its administration can be judged. */
export interface AdminHarness {
  readonly admin: TopicAdmin;
  /** A logical topic or group name that nothing else has. */
  unique(what: string): string;
  /** Appends so many records without a key, spread evenly. */
  fill(topic: string, count: number): Promise<void>;
  /** Commits as the group. */
  commit(group: string, topic: string, partition: number, offset: number): Promise<void>;
  close(): Promise<void>;
}

/** What every {@link TopicAdmin} promises. */
export function topicAdminSuite(name: string, open: () => Promise<AdminHarness>): void {
  describe(`a topic administration (${name})`, () => {
    let harness: AdminHarness;
    const shape = (partitions: number, settings: Record<string, string> = {}): TopicShape => ({
      ...{ name: harness.unique('topic'), partitions, replicationFactor: 1, settings },
    });

    beforeAll(async () => {
      harness = await open();
    });
    afterAll(async () => {
      await harness.close();
    });

    it('names the cluster, the same each time', async () => {
      const cluster = await harness.admin.cluster();
      expect(cluster.clusterId).not.toBe('');
      expect(cluster.brokers).toBeGreaterThan(0);
      expect(await harness.admin.cluster()).toEqual(cluster);
    });

    it('describes a topic as it was created', async () => {
      const topic = shape(3, { 'cleanup.policy': 'compact', 'retention.ms': '1234567' });
      await harness.admin.create([topic]);
      const [found] = await harness.admin.describe([topic.name]);
      expect(found).toMatchObject({ name: topic.name, partitions: 3, replicationFactor: 1 });
      expect(found?.settings).toMatchObject(topic.settings);
    });

    it('leaves topics out of a description that do not exist', async () => {
      const topic = shape(1);
      await harness.admin.create([topic]);
      const found = await harness.admin.describe([harness.unique('nowhere'), topic.name]);
      expect(found.map(({ name }) => name)).toEqual([topic.name]);
    });

    it('adds partitions', async () => {
      const topic = shape(2);
      await harness.admin.create([topic]);
      await harness.admin.addPartitions(topic.name, 5);
      expect(await harness.admin.describe([topic.name])).toMatchObject([{ partitions: 5 }]);
    });

    it('refuses to take partitions away, with an error of the house', async () => {
      const topic = shape(2);
      await harness.admin.create([topic]);
      await expect(harness.admin.addPartitions(topic.name, 1)).rejects.toMatchObject({ name: 'LarkspurError' });
    });

    it('changes one setting and keeps the others', async () => {
      const topic = shape(1, { 'retention.ms': '1234567', 'max.message.bytes': '50000' });
      await harness.admin.create([topic]);
      await harness.admin.setSettings(topic.name, { 'max.message.bytes': '60000' });
      const [found] = await harness.admin.describe([topic.name]);
      expect(found?.settings).toMatchObject({ 'retention.ms': '1234567', 'max.message.bytes': '60000' });
    });

    it('counts the records that a group has not committed, and knows the group', async () => {
      const topic = shape(2);
      await harness.admin.create([topic]);
      await harness.fill(topic.name, 20);
      const group = harness.unique('group');
      const lag = async () => {
        const found = await harness.admin.lag(group, [topic.name]);
        return found.map(({ partition, lag }) => [partition, lag]).sort();
      };
      expect(await lag()).toEqual([
        [0, 10],
        [1, 10],
      ]);
      await harness.commit(group, topic.name, 1, 7);
      expect(await lag()).toEqual([
        [0, 10],
        [1, 3],
      ]);
      expect(await harness.admin.groups()).toContain(group);
    });
  });
}
