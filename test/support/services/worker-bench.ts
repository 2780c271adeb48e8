import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll } from 'vitest';

import { applyPlan, topicPlan } from '../../../src/runtime/topics.ts';
import { WorkerProcess } from '../../chaos/world/processes.ts';

import { KafkaHarness } from './kafka-harness.ts';

/** Workers as processes of their own at the real Kafka and Redis, on topics and keys that nobody else has; all ends with its suite. */
export class WorkerBench {
  readonly kafka: KafkaHarness;
  readonly #redisUrl: string;
  readonly #brokers: readonly string[];
  readonly #folder = mkdtempSync(join(tmpdir(), 'larkspur-workers-'));
  readonly #config = join(this.#folder, 'larkspur.yaml');
  readonly #workers: WorkerProcess[] = [];
  readonly #upstreams: Server[] = [];

  /** To be made within a suite. */
  constructor(brokers: readonly string[], redisUrl: string) {
    this.#brokers = brokers;
    this.#redisUrl = redisUrl;
    this.kafka = new KafkaHarness(brokers);
    afterAll(async () => {
      for (const worker of this.#workers) await worker.kill9();
      for (const upstream of this.#upstreams) upstream.close();
      await this.kafka.close();
      rmSync(this.#folder, { recursive: true, force: true });
    });
  }

  /** Starts an upstream that answers so. Resolves with its base URL. */
  async upstream(answer: RequestListener): Promise<string> {
    const server = createServer(answer).listen(0, '127.0.0.1');
    this.#upstreams.push(server);
    await once(server, 'listening');
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /**
   * Makes the topics, and the configuration of the workers.
   * @param rest of the configuration: YAML beside `kafka` and `redis`
   * @param kafka members of `kafka` beside what reaches it
   */
  async prepare(rest: string, kafka = ''): Promise<void> {
    const { admin, prefix } = this.kafka;
    await applyPlan(admin, await topicPlan(admin), () => undefined);
    writeFileSync(
      this.#config,
      `kafka: { brokers: [${this.#brokers.join(', ')}], topicPrefix: ${prefix}, group: ${prefix}worker${kafka === '' ? '' : `, ${kafka}`} }
redis: { url: ${this.#redisUrl}, keyPrefix: '${prefix}' }
${rest}
`,
    );
  }

  /** Starts one more worker. */
  async worker(): Promise<WorkerProcess> {
    const worker = await WorkerProcess.start(this.#config, join(this.#folder, `worker-${this.#workers.length}.log`));
    this.#workers.push(worker);
    return worker;
  }
}
