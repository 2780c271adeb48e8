import { randomBytes } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Kafka, logLevel } from 'kafkajs';

import { cachedFolder, maven, run } from './cache.ts';
import { Child, freePorts } from './child.ts';

const version = '4.3.1';
const pom = join(import.meta.dirname, 'kafka-pom.xml');

/** The folder with the broker's jars; fetched once. Rejects when Java 17 or Maven is missing or nothing can be had. */
export async function kafkaJars(): Promise<string> {
  const banner = await run('java', ['-version'], 20_000).catch(() => {
    throw new Error('Java 17 or newer is not on the path');
  });
  const major = Number(/version "(\d+)/.exec(banner)?.[1] ?? 0);
  if (major < 17) throw new Error(`Kafka needs Java 17 or newer, found ${major}`);
  return cachedFolder(`kafka-${version}`, (folder) =>
    maven('-f', pom, 'dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${folder}`),
  );
}

/** What a {@link LocalKafka} may be given. */
export interface LocalKafkaOptions {
  /** Broker settings on top of ours, by their Kafka names. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Port of a proxy that leads to {@link LocalKafka.outsidePort}: who comes that way is told to come that way again. */
  readonly through?: number;
  /** Its place in a cluster. Default: the only node of its own. */
  readonly place?: { readonly id: number; readonly voters: () => string };
}

/**
 * A broker of one node on this machine, for the shared test services and for tests that hurt it. Address and data stay
 * the same over `kill9` and `start`; `stop` removes the data. Ready means: metadata answers.
 */
export class LocalKafka {
  readonly #folder = mkdtempSync(join(tmpdir(), 'larkspur-kafka-'));
  readonly #settings: Readonly<Record<string, string>>;
  readonly #through: number | undefined;
  readonly #place: LocalKafkaOptions['place'];
  #ports: number[] = [];
  #child: Child | undefined;

  constructor(options: LocalKafkaOptions = {}) {
    this.#settings = options.settings ?? {};
    this.#through = options.through;
    this.#place = options.place;
    process.once('exit', this.#removeData);
  }

  /** Addresses to give to a client; known after the first `start`. */
  get brokers(): string[] {
    return [`127.0.0.1:${this.#ports[0] ?? 0}`];
  }

  /** Where a proxy leads to; known after the first `start`. */
  get outsidePort(): number {
    return this.#ports[2] ?? 0;
  }

  /** How it is named among the voters of its cluster; known after {@link reserve}. */
  get voter(): string {
    return `${this.#place?.id ?? 1}@127.0.0.1:${this.#ports[1] ?? 0}`;
  }

  /** Chooses its ports before it is started: the nodes of a cluster must know each other's. */
  async reserve(): Promise<void> {
    this.#ports = await freePorts(3);
  }

  /** Starts the broker, again after `kill9` or `halt`, and returns when it answers. */
  async start(): Promise<void> {
    const jars = await kafkaJars();
    const first = this.#ports.length === 0;
    // Between finding a free port and binding it another process may take it: then once more with others.
    for (let triesLeft = first ? 3 : 1; ; triesLeft--) {
      if (first) this.#ports = await freePorts(3);
      const conf = await this.#prepare(jars);
      this.#child = new Child('java', this.#java(jars, '512m', 'kafka.Kafka', conf), join(this.#folder, 'broker.log'));
      try {
        await this.#child.untilReady(() => answers(this.brokers), 60_000);
        return;
      } catch (error) {
        await this.#child.stop(0);
        if (triesLeft <= 1) throw error;
      }
    }
  }

  /** Ends the broker as a crash would; the data stays. */
  async kill9(): Promise<void> {
    await this.#child?.stop(0);
  }

  /** Ends the broker in order; the data stays. */
  async halt(): Promise<void> {
    await this.#child?.stop(10_000);
  }

  /** A graceful restart on the same data and address. */
  async restart(): Promise<void> {
    await this.halt();
    await this.start();
  }

  /** Starts on other ports with the same data, as a broker that was moved to another machine. */
  async move(): Promise<void> {
    await this.halt();
    await this.reserve();
    await this.start();
  }

  /** The folder with the segments of a partition. */
  segmentsOf(topic: string, partition: number): string {
    return join(this.#folder, 'data', `${topic}-${partition}`);
  }

  /** Runs one of Kafka's own tools, by its class. */
  async tool(main: string, ...args: string[]): Promise<void> {
    await run('java', this.#java(await kafkaJars(), '128m', main, ...args), 60_000);
  }

  /** Freezes the broker: connections stay open, nothing answers. */
  pause(): void {
    this.#child?.signal('SIGSTOP');
  }

  /** Thaws a frozen broker. */
  resume(): void {
    this.#child?.signal('SIGCONT');
  }

  /** Ends the broker and removes its data. */
  async stop(): Promise<void> {
    this.resume();
    await this.#child?.stop(3_000);
    this.#removeData();
    process.off('exit', this.#removeData);
  }

  readonly #removeData = (): void => rmSync(this.#folder, { recursive: true, force: true });

  async #prepare(jars: string): Promise<string> {
    const [port, controllerPort] = this.#ports;
    const conf = join(this.#folder, 'server.properties');
    const data = join(this.#folder, 'data');
    const base = baseSettings(port ?? 0, controllerPort ?? 0);
    const all = this.#through === undefined ? base : withOutside(base, this.outsidePort, this.#through);
    const id = String(this.#place?.id ?? 1);
    const place = { 'node.id': id, 'controller.quorum.voters': this.#place?.voters() ?? this.voter };
    const settings = { ...all, ...place, 'log.dirs': data, ...this.#settings };
    mkdirSync(this.#folder, { recursive: true });
    writeFileSync(conf, linesOf(settings));
    writeFileSync(join(this.#folder, 'log4j2.yaml'), logging);
    // Formatting takes a second of Java; a formatted folder holds nothing but ids, so one serves all runs.
    const formatted = await cachedFolder(`kafka-${version}-formatted`, async (folder) => {
      const draft = join(folder, 'format.properties');
      const alone = { ...base, 'node.id': '1', 'controller.quorum.voters': `1@127.0.0.1:${controllerPort ?? 0}` };
      writeFileSync(draft, linesOf({ ...alone, 'log.dirs': join(folder, 'data') }));
      const args = ['format', '-t', 'AAAAAAAAAAAAAAAAAAAAAQ', '-c', draft];
      await run('java', this.#java(jars, '128m', 'kafka.tools.StorageTool', ...args), 60_000);
    });
    if (existsSync(data)) return conf;
    cpSync(join(formatted, 'data'), data, { recursive: true });
    const meta = join(data, 'meta.properties');
    const ids = readFileSync(meta, 'utf8')
      .replace(/^node.id=.*$/m, `node.id=${id}`)
      .replace(/^directory.id=.*$/m, `directory.id=${randomBytes(16).toString('base64url')}`);
    writeFileSync(meta, ids);
    return conf;
  }

  #java(jars: string, heap: string, main: string, ...args: string[]): string[] {
    const logs = [`-Dkafka.logs.dir=${this.#folder}`, `-Dlog4j2.configurationFile=file:${this.#folder}/log4j2.yaml`];
    return [`-Xmx${heap}`, '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', ...logs, '-cp', `${jars}/*`, main, ...args];
  }
}

const linesOf = (settings: Readonly<Record<string, string>>): string =>
  Object.entries(settings)
    .map(([name, value]) => `${name}=${value}`)
    .join('\n');

async function answers(brokers: string[]): Promise<boolean> {
  const kafka = new Kafka({ brokers, connectionTimeout: 500, retry: { retries: 0 }, logLevel: logLevel.NOTHING });
  const admin = kafka.admin();
  try {
    await admin.connect();
    return (await admin.describeCluster()).brokers.length > 0;
  } finally {
    await admin.disconnect();
  }
}

const logging =
  'Configuration: { Appenders: { Console: { name: OUT } }, ' +
  'Loggers: { Root: { level: WARN, AppenderRef: [ { ref: OUT } ] } } }\n';

const baseSettings = (port: number, controllerPort: number): Record<string, string> => ({
  'process.roles': 'broker,controller',
  listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
  'advertised.listeners': `PLAINTEXT://127.0.0.1:${port}`,
  'controller.listener.names': 'CONTROLLER',
  'inter.broker.listener.name': 'PLAINTEXT',
  'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT',
  'auto.create.topics.enable': 'false',
  'offsets.topic.replication.factor': '1',
  'offsets.topic.num.partitions': '4',
  'transaction.state.log.replication.factor': '1',
  'transaction.state.log.min.isr': '1',
  'share.coordinator.state.topic.replication.factor': '1',
  'share.coordinator.state.topic.min.isr': '1',
  'group.initial.rebalance.delay.ms': '0',
  'group.min.session.timeout.ms': '1000',
  // A killed broker may come back when the session of its former self is over.
  'broker.session.timeout.ms': '4000',
  'broker.heartbeat.interval.ms': '500',
  'num.network.threads': '2',
  'num.io.threads': '2',
  'log.cleaner.dedupe.buffer.size': '8388608',
  'log.segment.bytes': '16777216',
});

/** One more listener, advertised as the address of a proxy. */
function withOutside(base: Record<string, string>, outsidePort: number, through: number): Record<string, string> {
  const also = (name: string, more: string) => ({ [name]: `${base[name] ?? ''},${more}` });
  return {
    ...base,
    ...also('listeners', `OUTSIDE://127.0.0.1:${outsidePort}`),
    ...also('advertised.listeners', `OUTSIDE://127.0.0.1:${through}`),
    ...also('listener.security.protocol.map', 'OUTSIDE:PLAINTEXT'),
  };
}
