import { type ErrorCode, LarkspurError, messageOf } from '../../model/errors.ts';

/** What a failure of the driver means for who has to act: the network, an administrator, or whoever wrote the record. */
export type KafkaTrouble =
  'connection' | 'coordinator' | 'denied' | 'missing-topic' | 'rebalance' | 'too-large' | 'other';

const troubleOfType: Readonly<Record<string, KafkaTrouble>> = {
  REBALANCE_IN_PROGRESS: 'rebalance',
  ILLEGAL_GENERATION: 'rebalance',
  UNKNOWN_MEMBER_ID: 'rebalance',
  MESSAGE_TOO_LARGE: 'too-large',
  RECORD_LIST_TOO_LARGE: 'too-large',
  UNKNOWN_TOPIC_OR_PARTITION: 'missing-topic',
  TOPIC_AUTHORIZATION_FAILED: 'denied',
  GROUP_AUTHORIZATION_FAILED: 'denied',
  CLUSTER_AUTHORIZATION_FAILED: 'denied',
  SASL_AUTHENTICATION_FAILED: 'denied',
  ILLEGAL_SASL_STATE: 'connection',
};

const troubleOfName: Readonly<Record<string, KafkaTrouble>> = {
  KafkaJSSASLAuthenticationError: 'denied',
  KafkaJSGroupCoordinatorNotFound: 'coordinator',
  KafkaJSConnectionError: 'connection',
  KafkaJSConnectionClosedError: 'connection',
  KafkaJSRequestTimeoutError: 'connection',
  KafkaJSBrokerNotFound: 'connection',
  KafkaJSNoBrokerAvailableError: 'connection',
};

/** Sorts what kafkajs threw. It wraps errors in each other; the innermost one that says something counts. */
export function troubleOf(thrown: unknown): KafkaTrouble {
  let trouble: KafkaTrouble = 'other';
  for (const error of chainOf(thrown)) {
    trouble = troubleOfType[field(error, 'type')] ?? troubleOfName[error.name] ?? trouble;
  }
  return trouble;
}

/** The protocol's name of an error, such as `MESSAGE_TOO_LARGE`, else the error's class. For logs. */
export function typeOf(thrown: unknown): string {
  let type = 'unknown';
  for (const error of chainOf(thrown)) type = field(error, 'type') || error.name;
  return type;
}

const told: Readonly<Record<KafkaTrouble, { readonly code: ErrorCode; readonly cure: string }>> = {
  connection: { code: 'kafka_unavailable', cure: 'check kafka.brokers, the network, and whether the brokers are up' },
  // kafkajs does not tell a group that may not be read from one whose coordinator is on its way.
  coordinator: {
    code: 'kafka_unavailable',
    cure: 'wait for the coordinator of the group; if it lasts, grant the user READ on the group',
  },
  denied: { code: 'kafka_denied', cure: 'check the SASL user and the ACLs of its topics and its group' },
  'missing-topic': { code: 'topic_missing', cure: 'create the topics with: larkspur topics apply' },
  rebalance: { code: 'kafka_unavailable', cure: 'wait for the consumer group to settle' },
  'too-large': { code: 'record_too_large', cure: "raise the topic's max.message.bytes or write less" },
  other: { code: 'kafka_consumer_failed', cure: 'read the cause; the broker or the data do not fit this client' },
};

/** The error a person gets to see. `doing` completes "Kafka: could not ...". */
export function larkspurErrorOf(thrown: unknown, doing: string): LarkspurError {
  if (thrown instanceof LarkspurError) return thrown;
  const trouble = troubleOf(thrown);
  const { code, cure } = told[trouble];
  const retryable = trouble === 'connection' || trouble === 'coordinator' || trouble === 'rebalance';
  return new LarkspurError(code, `Kafka: could not ${doing}: ${messageOf(thrown)}`, { cure, retryable, cause: thrown });
}

function chainOf(thrown: unknown): Error[] {
  const chain: Error[] = [];
  for (let error = thrown; error instanceof Error && chain.length < 10; error = error.cause) {
    chain.push(error, ...nested(error));
  }
  return chain;
}

/** Errors of single topics inside the error of a request over many. */
function nested(error: Error): Error[] {
  const { errors } = error as { readonly errors?: unknown };
  return Array.isArray(errors) ? errors.filter((one) => one instanceof Error) : [];
}

function field(error: Error, name: 'type'): string {
  const value = (error as { readonly type?: unknown })[name];
  return typeof value === 'string' ? value : '';
}
