/** What a topic should be, as declared in `topics/*.json`, or what it is. */
export interface TopicShape {
  readonly name: string;
  readonly partitions: number;
  readonly replicationFactor: number;
  /** Broker settings by their Kafka names: `retention.ms`, `cleanup.policy`, `max.message.bytes`, `min.insync.replicas`. */
  readonly settings: Readonly<Record<string, string>>;
}

/** One broker of the cluster. */
export interface ClusterView {
  readonly clusterId: string;
  readonly brokers: number;
}

/** Topics of a cluster, by logical name. All methods reject with a `LarkspurError`. */
export interface TopicAdmin {
  cluster(): Promise<ClusterView>;
  /** Those of the named topics that exist. */
  describe(names: readonly string[]): Promise<readonly TopicShape[]>;
  create(topics: readonly TopicShape[]): Promise<void>;
  addPartitions(name: string, partitions: number): Promise<void>;
  /** Merges: settings that are not named keep their value. */
  setSettings(name: string, settings: Readonly<Record<string, string>>): Promise<void>;
  /** Records not yet committed by the group, per topic and partition. */
  lag(group: string, names: readonly string[]): Promise<readonly { topic: string; partition: number; lag: number }[]>;
  /** Consumer groups of the cluster, also those that nobody is in at present. */
  groups(): Promise<readonly string[]>;
  close(): Promise<void>;
}
