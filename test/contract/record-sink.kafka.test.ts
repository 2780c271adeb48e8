import { KafkaHarness } from '../support/services/kafka-harness.ts';
import { describeWithKafka } from '../support/services/provided.ts';

import { recordSinkSuite } from './record-sink.suite.ts';

describeWithKafka('on Kafka', (brokers) => {
  recordSinkSuite('kafka', () => Promise.resolve(new KafkaHarness(brokers)));
});
