import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { lastValueFrom, toArray } from 'rxjs';

import { kafkaTail } from '../../../src/adapters/kafka/tail.ts';
import { systemTimers } from '../../../src/adapters/system/clock.ts';
import type { Event } from '../../../src/model/event.ts';
import type { EventTarget } from '../../../src/sandbox/events/seal.ts';
import { Child, freePorts } from '../../support/services/child.ts';
import { LocalKafka } from '../../support/services/local-kafka.ts';
import { LocalRedis } from '../../support/services/local-redis.ts';
import { noLogger } from '../../support/silent.ts';

import { larkspur, program } from './processes.ts';

const app = 'cli_chaos';
const encryptKey = 'chaos-encrypt-key';
const prefix = 'chaos-ingress.';

/** `larkspur ingress` as a process of its own, always on the same port. */
class IngressProcess {
  readonly url: string;
  readonly #ports: readonly [ingress: number, admin: number];
  readonly #config: string;
  readonly #logFile: string;
  #child: Child | undefined;

  constructor(config: string, logFile: string, ports: readonly [number, number]) {
    this.url = `http://127.0.0.1:${ports[0]}`;
    this.#ports = ports;
    this.#config = config;
    this.#logFile = logFile;
  }

  async start(): Promise<void> {
    const [ingress, admin] = this.#ports.map((port) => `127.0.0.1:${port}`);
    const args = ['ingress', '--config', this.#config, '--ingress', ingress ?? '', '--admin', admin ?? ''];
    this.#child = new Child(process.execPath, [...program, ...args], this.#logFile);
    await this.#child.untilReady(async () => (await this.readiness()) === 200, 60_000);
  }

  /** Status of `/readyz`, 0 when nobody answers. */
  readiness(): Promise<number> {
    return fetch(`http://127.0.0.1:${this.#ports[1]}/readyz`, { signal: AbortSignal.timeout(2_000) }).then(
      ({ status }) => status,
      () => 0,
    );
  }

  /** How long it takes to say that it lives, milliseconds. */
  async bareMs(): Promise<number> {
    const startMs = performance.now();
    await fetch(`http://127.0.0.1:${this.#ports[1]}/livez`, { signal: AbortSignal.timeout(2_000) }).catch(
      () => undefined,
    );
    return performance.now() - startMs;
  }

  /** Whether it is gone, and nobody had asked for that. */
  get endedByItself(): boolean {
    return this.#child?.endedByItself ?? false;
  }

  /** Ends it as a crash would. */
  async kill9(): Promise<void> {
    await this.#child?.stop(0);
  }
}

/** Everything around two ingresses of one run: a broker and a Redis of its own. */
export interface IngressWorld {
  readonly broker: LocalKafka;
  readonly ingresses: readonly IngressProcess[];
  readonly target: EventTarget;
  /** Ids of the events on the topic per key, in their order there. */
  stored(): Promise<Readonly<Record<string, readonly string[]>>>;
}

/** Brings it up, runs `work` in it, takes it down. */
export async function aroundIngresses<T>(work: (world: IngressWorld) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'larkspur-chaos-'));
  const broker = new LocalKafka();
  const redis = new LocalRedis();
  const ports = await freePorts(4);
  const config = join(folder, 'larkspur.yaml');
  const ingresses = [0, 1].map((nth) => {
    const own = [ports[2 * nth] ?? 0, ports[2 * nth + 1] ?? 0] as const;
    return new IngressProcess(config, join(folder, `ingress-${nth}.log`), own);
  });
  try {
    await Promise.all([broker.start(), redis.start()]);
    writeFileSync(
      config,
      `kafka: { brokers: [${broker.brokers.join(', ')}], topicPrefix: ${prefix} }
redis: { url: ${redis.url} }
logLevel: warn
apps: [{ id: ${app}, secret: secret, encryptKey: ${encryptKey} }]
`,
    );
    await larkspur(['topics', 'apply', '--config', config], join(folder, 'topics.log'));
    await Promise.all(ingresses.map((ingress) => ingress.start()));
    const target = { urls: ingresses.map(({ url }) => url), app, encryptKey };
    return await work({ broker, ingresses, target, stored: () => storedIn(broker.brokers) });
  } finally {
    await Promise.all(ingresses.map((ingress) => ingress.kill9()));
    await Promise.all([broker.stop(), redis.stop()]);
    rmSync(folder, { recursive: true, force: true });
  }
}

async function storedIn(brokers: string[]): Promise<Record<string, string[]>> {
  const options = { client: { brokers, clientId: 'larkspur-chaos' }, prefix, timers: systemTimers, logger: noLogger };
  const all$ = kafkaTail('events', { ...options, last: Infinity, follow: false });
  const records = await lastValueFrom(all$.pipe(toArray()));
  const ids: Record<string, string[]> = {};
  for (const { key, value } of records.sort((a, b) => a.offset - b.offset)) {
    (ids[String(key)] ??= []).push((JSON.parse(String(value)) as Event).id);
  }
  return ids;
}
