import { describe, inject } from 'vitest';

import type {} from './global-setup.ts';

/** Brokers of the real Kafka of this run, or `undefined` when there is none (said once, in yellow, by the setup). */
export function kafkaBrokers(): string[] | undefined {
  return inject('kafkaBrokers') ?? undefined;
}

/** Address of the real Redis of this run, or `undefined` when there is none. */
export function redisUrl(): string | undefined {
  return inject('redisUrl') ?? undefined;
}

// Given to suites that are collected only to be counted as skipped: nothing listens there.
const nowhere = '127.0.0.1:1';

/** A suite against the real Kafka. Without one its tests are counted as skipped, and its title says what is missing. */
export function describeWithKafka(title: string, suite: (brokers: string[]) => void): void {
  const brokers = kafkaBrokers();
  describe.skipIf(brokers === undefined)(titled(title, 'kafka'), () => {
    suite(brokers ?? [nowhere]);
  });
}

/** A suite against the real Redis, like {@link describeWithKafka}. */
export function describeWithRedis(title: string, suite: (url: string) => void): void {
  const url = redisUrl();
  describe.skipIf(url === undefined)(titled(title, 'redis'), () => {
    suite(url ?? `redis://${nowhere}`);
  });
}

/** A suite against one real Redis of each line, named in the title. A line that is not there is counted as skipped. */
export function describeWithEachRedis(title: string, suite: (url: string) => void): void {
  const servers = inject('redisOfEachLine');
  // Without any Redis the suite is skipped once.
  if (servers.length === 0) describeWithRedis(title, suite);
  for (const server of servers) {
    const missing = 'missing' in server;
    const name = missing ? `${server.line} (skipped: ${server.missing})` : server.version;
    describe.skipIf(missing)(`${title} ${name}`, () => {
      suite(missing ? `redis://${nowhere}` : server.url);
    });
  }
}

/** A suite that needs both. */
export function describeWithServices(title: string, suite: (brokers: string[], url: string) => void): void {
  describeWithKafka(title, (brokers) => {
    describeWithRedis('with Redis', (url) => {
      suite(brokers, url);
    });
  });
}

function titled(title: string, service: 'kafka' | 'redis'): string {
  const why = inject('missingServices')[service];
  return why === '' ? title : `${title} (skipped, no ${service}: ${why})`;
}
