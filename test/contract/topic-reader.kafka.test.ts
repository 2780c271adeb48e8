import { KafkaReader } from '../../src/adapters/kafka/reader.ts';
import { systemTimers } from '../../src/adapters/system/clock.ts';
import { only } from '../support/only.ts';
import { KafkaHarness } from '../support/services/kafka-harness.ts';
import { describeWithKafka } from '../support/services/provided.ts';
import { SourceReader } from '../support/source-reader.ts';

import { topicReaderSuite } from './topic-reader.suite.ts';

describeWithKafka('on Kafka', (brokers) => {
  topicReaderSuite('kafka', () => {
    const kafka = new KafkaHarness(brokers);
    const { client, prefix, logger } = kafka;
    return Promise.resolve({
      reader: new KafkaReader({ client, prefix, logger, timers: systemTimers }),
      topic: (partitions: number) => kafka.topic(partitions),
      write: (topic, records) => kafka.write(topic, records),
      commit: async (group, topic, partition, offset) => {
        const source = kafka.member(group, [topic]);
        const reader = new SourceReader(source);
        await reader.until(() => reader.partitions.some((one) => one.partition === partition));
        await only(source.commit([{ partition: reader.partition(partition), offset, metadata: '' }]));
        await source.close();
      },
      close: () => kafka.close(),
    });
  });
});
