import { existsSync } from 'node:fs';
import { request } from 'node:http';
import { homedir } from 'node:os';
import { join } from 'node:path';

import { freePorts } from './child.ts';

/** Whether a Docker engine answers. Asks its socket directly: no client program, no waiting when there is none. */
export async function dockerAnswers(): Promise<boolean> {
  const host = process.env['DOCKER_HOST'];
  if (host !== undefined && !host.startsWith('unix://')) return ping({ host: hostOf(host), port: portOf(host) });
  const sockets = [
    host?.slice('unix://'.length),
    '/var/run/docker.sock',
    join(process.env['XDG_RUNTIME_DIR'] ?? '', 'docker.sock'),
    join(homedir(), '.docker/run/docker.sock'),
  ];
  for (const socketPath of sockets) {
    if (socketPath !== undefined && existsSync(socketPath) && (await ping({ socketPath }))) return true;
  }
  return false;
}

const hostOf = (url: string): string => new URL(url).hostname;
const portOf = (url: string): number => Number(new URL(url).port || 2375);

function ping(to: { socketPath: string } | { host: string; port: number }): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = request({ ...to, path: '/_ping', timeout: 2_000 }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    asked.on('timeout', () => asked.destroy());
    asked.on('error', () => resolve(false));
    asked.end();
  });
}

/** A service in a container. */
export interface Contained {
  readonly address: string;
  stop(): Promise<unknown>;
}

/** Kafka 4.3 in a container, on a free port of this machine: a broker advertises one fixed address. */
export async function containedKafka(): Promise<Contained> {
  const { GenericContainer, Wait } = await import('testcontainers');
  const [port = 0] = await freePorts(1);
  const container = await new GenericContainer('apache/kafka:4.3.1')
    .withExposedPorts({ container: 29092, host: port })
    .withEnvironment({
      KAFKA_NODE_ID: '1',
      KAFKA_PROCESS_ROLES: 'broker,controller',
      KAFKA_CONTROLLER_QUORUM_VOTERS: '1@localhost:9093',
      KAFKA_LISTENERS: 'HOST://0.0.0.0:29092,CONTROLLER://localhost:9093,INNER://localhost:19092',
      KAFKA_ADVERTISED_LISTENERS: `HOST://127.0.0.1:${port},INNER://localhost:19092`,
      KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: 'HOST:PLAINTEXT,CONTROLLER:PLAINTEXT,INNER:PLAINTEXT',
      KAFKA_CONTROLLER_LISTENER_NAMES: 'CONTROLLER',
      KAFKA_INTER_BROKER_LISTENER_NAME: 'INNER',
      KAFKA_AUTO_CREATE_TOPICS_ENABLE: 'false',
      KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR: '1',
      KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS: '4',
      KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR: '1',
      KAFKA_TRANSACTION_STATE_LOG_MIN_ISR: '1',
      KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS: '0',
      KAFKA_GROUP_MIN_SESSION_TIMEOUT_MS: '1000',
    })
    .withWaitStrategy(Wait.forLogMessage(/Kafka Server started/))
    .withStartupTimeout(120_000)
    .start();
  return { address: `127.0.0.1:${port}`, stop: () => container.stop() };
}

/** Redis 7 in a container. */
export async function containedRedis(): Promise<Contained> {
  const { GenericContainer, Wait } = await import('testcontainers');
  const container = await new GenericContainer('redis:7')
    .withExposedPorts(6379)
    // Asked from outside the container: an image without an entry point of its own would refuse that.
    .withCommand(['redis-server', '--save', '', '--appendonly', 'no', '--protected-mode', 'no'])
    .withWaitStrategy(Wait.forLogMessage(/Ready to accept connections/))
    .withStartupTimeout(120_000)
    .start();
  const address = `redis://${container.getHost()}:${container.getMappedPort(6379)}`;
  return { address, stop: () => container.stop() };
}
