import { Kafka, type KafkaConfig, type logCreator, logLevel } from 'kafkajs';

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

/** How often kafkajs itself tries again; about a minute and a half in all. Every field is set: its defaults vary. */
export const patientRetry = { initialRetryTime: 300, maxRetryTime: 5_000, factor: 0.2, multiplier: 2, retries: 20 };

/** For steps that have a loop of ours around them: two seconds in all. */
export const briefRetry = { initialRetryTime: 200, maxRetryTime: 1_000, factor: 0.2, multiplier: 2, retries: 3 };

/**
 * Creates the driver's client. Connects to nothing yet. Throws `config_invalid` for addresses that kafkajs would
 * misread: it splits at the colon, so IPv6 literals and comma lists end in a port of NaN and endless retries.
 * @param requestTimeoutMs bounds how long a connection that died without a word is believed in
 */
export function createClient(options: KafkaOptions, logger: Logger, requestTimeoutMs = 30_000): Kafka {
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
    requestTimeout: requestTimeoutMs,
    retry: patientRetry,
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
