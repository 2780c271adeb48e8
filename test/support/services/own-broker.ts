import { afterAll, beforeAll } from 'vitest';

import { KafkaHarness } from './kafka-harness.ts';
import { LocalKafka } from './local-kafka.ts';

/** A broker of one suite, and adapters that reach it. */
export interface OwnBroker {
  readonly broker: LocalKafka;
  /** There from the first test on. */
  readonly kafka: KafkaHarness;
}

/** Gives the suite in which it is called a broker of its own, started before its tests and stopped after them: it may be hurt. */
export function ownBroker(): OwnBroker {
  const broker = new LocalKafka();
  let kafka: KafkaHarness | undefined;
  beforeAll(async () => {
    await broker.start();
    kafka = new KafkaHarness(broker.brokers);
  });
  afterAll(async () => {
    await kafka?.close();
    await broker.stop();
  });
  return {
    broker,
    get kafka() {
      if (kafka === undefined) throw new Error('the broker is started before the first test');
      return kafka;
    },
  };
}
