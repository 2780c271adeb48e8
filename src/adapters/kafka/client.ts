import { Kafka, type KafkaConfig, type logCreator, logLevel, type RetryOptions } from 'kafkajs';

import { LarkspurError } from '../../model/errors.ts';
import type { Logger } from '../../ports/logger.ts';

import { patchKafkajs } from './patches.ts';

/** How to reach the brokers. */
export interface KafkaOptions {
  /** `host:port` each; names or IPv4 addresses. */
  readonly brokers: readonly string[];
  readonly clientId: string;
  /** PEM texts; an empty object trusts the system's authorities; absent: plain text. */
  readonly ssl?: { readonly ca?: string; readonly cert?: string; readonly key?: string } | undefined;
  readonly sasl?:
    | {
        readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
        readonly username: string;
        readonly password: string;
      }
    | undefined;
}

/** How patient a client is inside the driver. */
export interface Patience {
  readonly retry: RetryOptions;
  /** Bounds how long a connection that died without a word is believed in. */
  readonly requestTimeoutMs: number;
}

/**
 * For consumers: rides out about a minute and a half, because a consumer that gave up leaves a ghost in the group, for
 * which its successor waits a whole session. Every field is set, because kafkajs's own defaults vary.
 */
export const patient: Patience = {
  retry: { initialRetryTime: 300, maxRetryTime: 5_000, factor: 0.2, multiplier: 2, retries: 20 },
  requestTimeoutMs: 30_000,
};

/** For all that has a loop of ours around it: four seconds, and half the usual timeout. */
export const brief: Patience = {
  retry: { initialRetryTime: 200, maxRetryTime: 1_000, factor: 0.2, multiplier: 2, retries: 5 },
  requestTimeoutMs: 15_000,
};

/**
 * Creates the driver's client. Connects to nothing yet. Throws `config_invalid` for addresses that kafkajs would
 * misread: it splits at the colon, so IPv6 literals and comma lists end in a port of NaN and endless retries.
 */
export function createClient(options: KafkaOptions, logger: Logger, patience: Patience): Kafka {
  const wrong = options.brokers.filter((broker) => !isAddress(broker));
  if (wrong.length > 0 || options.brokers.length === 0) {
    const found = wrong.length > 0 ? wrong.join(' and ') : 'none';
    throw new LarkspurError('config_invalid', `kafka.brokers must be host:port, one per entry, got ${found}`, {
      cure: 'name each broker in an entry of its own, by host name or IPv4 address',
    });
  }
  patchKafkajs(logger);
  const { clientId, ssl, sasl } = options;
  const config: KafkaConfig = {
    clientId,
    brokers: [...options.brokers],
    connectionTimeout: 10_000,
    requestTimeout: patience.requestTimeoutMs,
    // How long before the end of a SASL session it is renewed. Must be less than the session lasts (the broker's
    // `connections.max.reauth.ms`): kafkajs's own 10 s fail every request of a shorter one.
    reauthenticationThreshold: 2_000,
    retry: patience.retry,
    logLevel: logLevel.WARN,
    logCreator: bridgeTo(logger),
  };
  if (ssl !== undefined) config.ssl = { ...ssl };
  if (sasl !== undefined) config.sasl = saslOf(sasl);
  return new Kafka(config);
}

function isAddress(broker: string): boolean {
  const [, port] = /^[A-Za-z0-9._-]+:(\d{1,5})$/.exec(broker) ?? [];
  return port !== undefined && Number(port) > 0 && Number(port) < 65_536;
}

function saslOf({
  mechanism,
  username,
  password,
}: NonNullable<KafkaOptions['sasl']>): NonNullable<KafkaConfig['sasl']> {
  switch (mechanism) {
    case 'plain':
      return { mechanism, username, password };
    case 'scram-sha-256':
      return { mechanism, username, password };
    case 'scram-sha-512':
      return { mechanism, username, password };
  }
}

// What these say is tried again inside, and told by us when it lasts; an outage would fill the log with it.
const chatty = new Set(['Connection', 'BrokerPool', 'Cluster', 'Producer', 'RequestQueue']);

/** Lines of the driver in our log. Its errors are mostly steps that it tries again, so they are warnings at most. */
function bridgeTo(logger: Logger): logCreator {
  return () =>
    ({ namespace, log }) => {
      const { message, broker, topic, partition, groupId, memberId, error } = log;
      const fields: Record<string, unknown> = { namespace, broker, topic, partition, groupId, memberId };
      if (error !== undefined) fields['error'] = String(error);
      if (chatty.has(namespace)) logger.debug(fields, `kafkajs: ${message}`);
      else logger.warn(fields, `kafkajs: ${message}`);
    };
}
