import { setTimeout as sleep } from 'node:timers/promises';

import { Kafka, logLevel } from 'kafkajs';

import { LocalKafka } from './local-kafka.ts';

const nodes = 3;
const formedWithinMs = 90_000;

/** Three brokers on this machine, each a controller too; topics may have a replica on each, two of which must be in step. */
export class KafkaCluster {
  readonly nodes: readonly LocalKafka[];

  /** @param through a port per node, of proxies that lead to {@link LocalKafka.outsidePort} */
  constructor(through?: readonly number[]) {
    const voters = () => this.nodes.map(({ voter }) => voter).join(',');
    this.nodes = Array.from({ length: nodes }, (_, index) => {
      const port = through?.[index];
      const place = { id: index + 1, voters };
      return new LocalKafka({ settings: replicated, place, ...(port === undefined ? {} : { through: port }) });
    });
  }

  get brokers(): string[] {
    return this.nodes.flatMap(({ brokers }) => brokers);
  }

  /** Starts all and returns when each knows of each. */
  async start(): Promise<void> {
    // One after the other: ports that are free are only free until somebody else asks.
    for (const node of this.nodes) await node.reserve();
    await Promise.all(this.nodes.map((node) => node.start()));
    await this.#whole();
  }

  /** Starts a node again and returns when all replicas are in step. */
  async revive(node: LocalKafka, topics: readonly string[]): Promise<void> {
    await node.start();
    await this.#whole();
    const admin = this.#kafka().admin();
    await admin.connect();
    await until('all replicas are in step', async () => {
      const { topics: found } = await admin.fetchTopicMetadata({ topics: [...topics] });
      return found.every(({ partitions }) => partitions.every(({ isr }) => isr.length === nodes));
    });
    await admin.disconnect();
  }

  /** The nodes that lead a topic's partitions, by partition. */
  async leaders(topic: string): Promise<LocalKafka[]> {
    const admin = this.#kafka().admin();
    await admin.connect();
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    await admin.disconnect();
    const partitions = [...(topics[0]?.partitions ?? [])].sort((a, b) => a.partitionId - b.partitionId);
    return partitions.map(({ leader }) => {
      const node = this.nodes[leader - 1];
      if (node === undefined) throw new Error(`${topic} has a partition without a leader`);
      return node;
    });
  }

  /** The node that coordinates a group. */
  async coordinator(group: string): Promise<LocalKafka> {
    const leaders = await this.leaders('__consumer_offsets');
    let hash = 0;
    for (let i = 0; i < group.length; i++) hash = (Math.imul(hash, 31) + group.charCodeAt(i)) | 0;
    const node = leaders[(hash & 0x7fffffff) % leaders.length];
    if (node === undefined) throw new Error('no group has met yet');
    return node;
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
  }

  async #whole(): Promise<void> {
    const admin = this.#kafka().admin();
    await until('the brokers know each other', async () => {
      await admin.connect();
      return (await admin.describeCluster()).brokers.length === nodes;
    });
    await admin.disconnect();
  }

  #kafka(): Kafka {
    return new Kafka({
      brokers: this.brokers,
      connectionTimeout: 500,
      retry: { retries: 2 },
      logLevel: logLevel.NOTHING,
    });
  }
}

async function until(what: string, done: () => Promise<boolean>): Promise<void> {
  const limitMs = performance.now() + formedWithinMs;
  while (!(await done().catch(() => false))) {
    if (performance.now() > limitMs) throw new Error(`not within ${formedWithinMs} ms: ${what}`);
    await sleep(100);
  }
}

const replicated = {
  'offsets.topic.replication.factor': '3',
  'transaction.state.log.replication.factor': '3',
  'transaction.state.log.min.isr': '2',
  'share.coordinator.state.topic.replication.factor': '3',
  'share.coordinator.state.topic.min.isr': '2',
  'default.replication.factor': '3',
  'min.insync.replicas': '2',
  'broker.session.timeout.ms': '6000',
  'replica.lag.time.max.ms': '5000',
};
