import { only } from '../support/only.ts';
import { KafkaHarness } from '../support/services/kafka-harness.ts';
import { describeWithKafka } from '../support/services/provided.ts';
import { SourceReader } from '../support/source-reader.ts';

import { topicAdminSuite } from './topic-admin.suite.ts';

describeWithKafka('on Kafka', (brokers) => {
  topicAdminSuite('kafka', () => {
    const kafka = new KafkaHarness(brokers);
    return Promise.resolve({
      admin: kafka.admin,
      unique: (what: string) => kafka.unique(what),
      close: () => kafka.close(),
      fill: (topic: string, count: number) =>
        kafka.write(
          topic,
          Array.from({ length: count }, () => ({ value: Buffer.from('v') })),
        ),
      commit: async (group: string, topic: string, partition: number, offset: number) => {
        const source = kafka.member(group, [topic]);
        const reader = new SourceReader(source);
        await reader.until(() => reader.partitions.some((one) => one.partition === partition));
        await only(source.commit([{ partition: reader.partition(partition), offset, metadata: '' }]));
        await source.close();
      },
    });
  });
});
