import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Kafka } from 'kafkajs';

import { LocalKafka } from '../../support/services/local-kafka.ts';
import { LocalRedis } from '../../support/services/local-redis.ts';

import { type Calls, quiet } from './calls.ts';
import { Group } from './group.ts';
import { larkspur, SandboxProcess, WorkerProcess } from './processes.ts';

/** Services that run already. */
export interface GivenServices {
  readonly brokers?: readonly string[] | undefined;
  readonly redisUrl?: string | undefined;
}

/** What a scenario asks of its surroundings. */
export interface WorldOptions {
  /** What is there already; what is not is started. */
  readonly services: GivenServices;
  /** Most calls a second of one worker. */
  readonly perSecond: number;
  /** What each call takes at the sandbox, milliseconds. */
  readonly latencyMs?: number;
  /** Longest time of an attempt, milliseconds. */
  readonly attemptMs?: number;
}

/** Everything around the workers of one run: broker, Redis, sandbox, topics, configuration. */
export class World {
  readonly kafka: Kafka;
  readonly group: Group;
  readonly prefix: string;
  readonly sandbox: SandboxProcess;
  readonly workers: WorkerProcess[] = [];
  readonly broker: LocalKafka | undefined;
  readonly redis: LocalRedis | undefined;
  readonly #config: string;
  readonly #folder: string;

  private constructor(parts: {
    brokers: readonly string[];
    prefix: string;
    sandbox: SandboxProcess;
    broker: LocalKafka | undefined;
    redis: LocalRedis | undefined;
    config: string;
    folder: string;
  }) {
    this.kafka = new Kafka({ ...quiet, brokers: [...parts.brokers] });
    this.prefix = parts.prefix;
    this.group = new Group(this.kafka, `${parts.prefix}worker`, `${parts.prefix}calls`);
    this.sandbox = parts.sandbox;
    this.broker = parts.broker;
    this.redis = parts.redis;
    this.#config = parts.config;
    this.#folder = parts.folder;
  }

  /** Brings it all up, runs `work` in it, takes it all down. */
  static async around<T>(options: WorldOptions, work: (world: World) => Promise<T>): Promise<T> {
    const folder = mkdtempSync(join(tmpdir(), 'larkspur-chaos-'));
    const removeFolder = (): void => rmSync(folder, { recursive: true, force: true });
    process.once('exit', removeFolder);
    const stops: (() => unknown)[] = [removeFolder, () => process.off('exit', removeFolder)];
    try {
      const { brokers, redisUrl } = options.services;
      const broker = brokers === undefined ? new LocalKafka() : undefined;
      if (broker !== undefined) stops.push(() => broker.stop());
      const redis = redisUrl === undefined ? new LocalRedis() : undefined;
      if (redis !== undefined) stops.push(() => redis.stop());
      await Promise.all([broker?.start(), redis?.start()]);
      const sandbox = await SandboxProcess.start(join(folder, 'sandbox.log'), options.latencyMs ?? 0);
      stops.push(() => sandbox.stop());
      const prefix = `chaos-${process.pid}-${Date.now().toString(36)}.`;
      const all = brokers ?? broker?.brokers ?? [];
      const config = join(folder, 'larkspur.yaml');
      const { perSecond, attemptMs = 10_000 } = options;
      writeFileSync(
        config,
        `kafka: { brokers: [${all.join(', ')}], topicPrefix: ${prefix}, group: ${prefix}worker }
redis: { url: ${redisUrl ?? redis?.url ?? ''}, keyPrefix: '${prefix}' }
apps: [{ id: cli_chaos, secret: secret }]
upstreams:
  feishu:
    baseUrl: ${sandbox.url}
    bucketConcurrency: 128
    limits: [{ perSecond: ${perSecond} }]
    timeouts: { attemptMs: ${attemptMs} }
`,
      );
      await larkspur(['topics', 'apply', '--config', config], join(folder, 'topics.log'));
      const world = new World({ brokers: all, prefix, sandbox, broker, redis, config, folder });
      await world.group.open();
      stops.push(() => world.group.close());
      stops.push(() => Promise.all(world.workers.map((worker) => worker.kill9())));
      if (broker === undefined) stops.push(() => world.#removeTopics());
      return await work(world);
    } finally {
      for (const stop of stops.reverse()) await Promise.resolve(stop()).catch(() => undefined);
    }
  }

  async produce(calls: Calls, tell: (text: string) => void): Promise<void> {
    await calls.produce(this.kafka, `${this.prefix}calls`, (written) =>
      tell(`${written} of ${calls.count} calls written`),
    );
  }

  /** Starts one more worker. */
  async worker(): Promise<WorkerProcess> {
    const worker = await WorkerProcess.start(this.#config, join(this.#folder, `worker-${this.workers.length}.log`));
    this.workers.push(worker);
    return worker;
  }

  /** Lines at error level of all workers. */
  errors(): string[] {
    return this.workers.flatMap((worker) => worker.errors());
  }

  /** SIGTERM to all that run; their exit codes. */
  async drainAll(): Promise<(number | null)[]> {
    return Promise.all(this.workers.filter(({ running }) => running).map((worker) => worker.drain()));
  }

  async #removeTopics(): Promise<void> {
    const admin = this.kafka.admin();
    await admin.connect();
    try {
      const topics = (await admin.listTopics()).filter((topic) => topic.startsWith(this.prefix));
      await admin.deleteTopics({ topics });
    } finally {
      await admin.disconnect();
    }
  }
}
