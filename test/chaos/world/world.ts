import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Kafka } from 'kafkajs';

import { LocalKafka } from '../../support/services/local-kafka.ts';
import { LocalRedis } from '../../support/services/local-redis.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';

import { type Calls, quiet } from './calls.ts';
import { Group } from './group.ts';
import { larkspur, SandboxProcess, WorkerProcess } from './processes.ts';

/** Services that run already. */
export interface GivenServices {
  readonly brokers?: readonly string[] | undefined;
  readonly redisUrl?: string | undefined;
}

/** Calls of one upstream that a worker has in flight at most, unless another number is asked for. */
export const usualInFlight = 128;

/** What a scenario asks of its surroundings. */
export interface WorldOptions {
  /** What is there already; what is not is started. */
  readonly services: GivenServices;
  /** Most calls a second of all workers together: they share the quota. */
  readonly perSecond: number;
  /** What each call takes at the sandbox, milliseconds. */
  readonly latencyMs?: number;
  /** Longest time of an attempt, milliseconds. Default 2,000; a lease lasts at least 4 seconds longer. */
  readonly attemptMs?: number;
  /** After so long the group misses a silent worker. Default 6,000, the least that may be set. */
  readonly sessionTimeoutMs?: number;
  /** Calls of one upstream in flight at once in each worker. Default {@link usualInFlight}. */
  readonly inFlight?: number;
  /** Further arguments of redis-server. */
  readonly redisArgs?: readonly string[];
  /** Whether a worker may be started that reaches everything through a proxy. Needs services of the run's own. */
  readonly proxied?: boolean;
}

/** The ways of a worker that can be cut. */
export interface Links {
  readonly kafka: TcpProxy;
  readonly redis: TcpProxy;
  readonly upstream: TcpProxy;
}

/** Whether a worker reaches everything directly, or through {@link World.links}. */
type Where = 'near' | 'far';

/** Addresses as a worker sees them. */
interface Addresses {
  readonly brokers: readonly string[];
  readonly redisUrl: string;
  readonly upstreamUrl: string;
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
  readonly links: Links | undefined;
  /** What a contestant that is not ours is told. */
  readonly addresses: Addresses;
  readonly #config: string;
  /** For logs of the run; removed at its end. */
  readonly folder: string;
  readonly #where: Where[] = [];
  readonly #gone: WorkerProcess[] = [];
  readonly #starting: Promise<void>[] = [];
  #started = 0;

  private constructor(parts: {
    addresses: Addresses;
    prefix: string;
    sandbox: SandboxProcess;
    broker: LocalKafka | undefined;
    redis: LocalRedis | undefined;
    links: Links | undefined;
    config: string;
    folder: string;
  }) {
    this.addresses = parts.addresses;
    this.links = parts.links;
    this.kafka = new Kafka({ ...quiet, brokers: [...parts.addresses.brokers] });
    this.prefix = parts.prefix;
    this.group = new Group(this.kafka, `${parts.prefix}worker`, `${parts.prefix}calls`);
    this.sandbox = parts.sandbox;
    this.broker = parts.broker;
    this.redis = parts.redis;
    this.#config = parts.config;
    this.folder = parts.folder;
  }

  /** Brings it all up, runs `work` in it, takes it all down. */
  static async around<T>(options: WorldOptions, work: (world: World) => Promise<T>): Promise<T> {
    const folder = mkdtempSync(join(tmpdir(), 'larkspur-chaos-'));
    const removeFolder = (): void => rmSync(folder, { recursive: true, force: true });
    process.once('exit', removeFolder);
    const stops: (() => unknown)[] = [removeFolder, () => process.off('exit', removeFolder)];
    try {
      const { brokers, redisUrl } = options.services;
      const links = options.proxied === true ? await openLinks() : undefined;
      if (links !== undefined)
        stops.push(() => Promise.all([links.kafka, links.redis, links.upstream].map((link) => link.close())));
      const through = links === undefined ? {} : { through: links.kafka.port };
      const broker = brokers === undefined ? new LocalKafka(through) : undefined;
      if (broker !== undefined) stops.push(() => broker.stop());
      const redis = redisUrl === undefined ? new LocalRedis({ args: options.redisArgs ?? [] }) : undefined;
      if (redis !== undefined) stops.push(() => redis.stop());
      await Promise.all([broker?.start(), redis?.start()]);
      const sandbox = await SandboxProcess.start(join(folder, 'sandbox.log'), options.latencyMs ?? 0);
      stops.push(() => sandbox.stop());
      const prefix = `chaos-${process.pid}-${Date.now().toString(36)}.`;
      const addresses: Addresses = {
        brokers: brokers ?? broker?.brokers ?? [],
        redisUrl: redisUrl ?? redis?.url ?? '',
        upstreamUrl: sandbox.url,
      };
      const config = join(folder, 'larkspur.yaml');
      writeFileSync(config, configText(addresses, prefix, options));
      if (links !== undefined) {
        links.kafka.to(broker?.outsidePort ?? 0);
        links.redis.to(portOf(addresses.redisUrl));
        links.upstream.to(portOf(addresses.upstreamUrl));
        writeFileSync(farConfig(config), configText(addressesOf(links), prefix, options));
      }
      await larkspur(['topics', 'apply', '--config', config], join(folder, 'topics.log'));
      const world = new World({ addresses, prefix, sandbox, broker, redis, links, config, folder });
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

  /** Starts one more worker; a far one reaches everything through {@link World.links}. */
  async worker(where: Where = 'near'): Promise<WorkerProcess> {
    const worker = await this.#start(where);
    this.#where.push(where);
    this.workers.push(worker);
    return worker;
  }

  /** Starts another worker in the place of one that has ended; {@link replaced} tells when it is there. */
  replaceSoon(place: number): void {
    const starting = this.#start(this.#where[place] ?? 'near').then((worker) => {
      const [old] = this.workers.splice(place, 1, worker);
      if (old !== undefined) this.#gone.push(old);
    });
    // Its failure is told to whoever waits.
    starting.catch(() => undefined);
    this.#starting.push(starting);
  }

  /** Resolves when all that were to be replaced are; rejects when one did not start. */
  async replaced(): Promise<void> {
    await Promise.all(this.#starting.splice(0));
  }

  /** Workers that have not been ended. */
  get running(): WorkerProcess[] {
    return this.workers.filter(({ running }) => running);
  }

  /** Lines at error level of all workers. */
  errors(): string[] {
    return [...this.#gone, ...this.workers].flatMap((worker) => worker.errors());
  }

  /** Workers that are gone though nobody had ended them; one that takes over would hide it. */
  get endedByThemselves(): WorkerProcess[] {
    return [...this.#gone, ...this.workers].filter(({ endedByItself }) => endedByItself);
  }

  /** SIGTERM to all that run; their exit codes. */
  async drainAll(): Promise<(number | null)[]> {
    return Promise.all(this.running.map((worker) => worker.drain()));
  }

  #start(where: Where): Promise<WorkerProcess> {
    const config = where === 'near' ? this.#config : farConfig(this.#config);
    return WorkerProcess.start(config, join(this.folder, `worker-${this.#started++}.log`));
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

async function openLinks(): Promise<Links> {
  const [kafka, redis, upstream] = await Promise.all([TcpProxy.open(), TcpProxy.open(), TcpProxy.open()]);
  return { kafka, redis, upstream };
}

const farConfig = (config: string): string => config.replace('.yaml', '-far.yaml');
const portOf = (url: string): number => Number(new URL(url).port);

function addressesOf({ kafka, redis, upstream }: Links): Addresses {
  return {
    brokers: [`127.0.0.1:${kafka.port}`],
    redisUrl: `redis://127.0.0.1:${redis.port}`,
    upstreamUrl: `http://127.0.0.1:${upstream.port}`,
  };
}

/** `feishu` is the upstream of calls with a key of the platform, `plain` that of calls without. */
function configText({ brokers, redisUrl, upstreamUrl }: Addresses, prefix: string, options: WorldOptions): string {
  const { perSecond, attemptMs = 2_000, sessionTimeoutMs = 6_000, inFlight = usualInFlight } = options;
  const upstream = `{ concurrency: ${inFlight}, bucketConcurrency: ${inFlight}, limits: [{ perSecond: ${perSecond} }], timeouts: { attemptMs: ${attemptMs} }`;
  return `kafka:
  brokers: [${brokers.join(', ')}]
  topicPrefix: ${prefix}
  group: ${prefix}worker
  sessionTimeoutMs: ${sessionTimeoutMs}
redis: { url: ${redisUrl}, keyPrefix: '${prefix}' }
apps: [{ id: cli_chaos, secret: secret }]
worker: { inFlight: 256, claims: { leaseMs: 6000, renewMs: 2000 } }
upstreams:
  feishu: ${upstream}, baseUrl: ${upstreamUrl} }
  plain: ${upstream}, baseUrl: ${upstreamUrl}/echo }
`;
}
