import { KafkaHarness } from '../support/services/kafka-harness.ts';
import { describeWithKafka } from '../support/services/provided.ts';

import { recordSourceSuite } from './record-source.suite.ts';

describeWithKafka('on Kafka', (brokers) => {
  recordSourceSuite('kafka', () => Promise.resolve(new KafkaHarness(brokers)));
});
