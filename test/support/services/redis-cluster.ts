import { setTimeout as sleep } from 'node:timers/promises';

import { Redis } from 'ioredis';

import { LocalRedis } from './local-redis.ts';

const slots = 16_384;
const formedWithinMs = 60_000;
const masters = 3;

/** What a {@link RedisCluster} may be given. */
export interface RedisClusterOptions {
  /** The redis-server to run; default: the first that is found. */
  readonly program?: string;
  /** Whether each master has a replica, which takes over when it dies. Default `false`. */
  readonly replicas?: boolean;
}

/** A Redis Cluster of three masters on this machine, formed by hand: it needs no redis-cli. */
export class RedisCluster {
  /** In the order of their slots. */
  readonly masters: readonly LocalRedis[];
  /** The replica of each master, in the same order; none unless asked for. */
  readonly replicas: readonly LocalRedis[];

  constructor({ program, replicas = false }: RedisClusterOptions = {}) {
    const quick = [
      '--cluster-node-timeout',
      '2000',
      '--repl-ping-replica-period',
      '1',
      '--repl-diskless-sync-delay',
      '0',
    ];
    const options = { args: ['--cluster-enabled', 'yes', ...quick], ...(program === undefined ? {} : { program }) };
    const nodes = (count: number) => Array.from({ length: count }, () => new LocalRedis(options));
    this.masters = nodes(masters);
    this.replicas = nodes(replicas ? masters : 0);
  }

  get #nodes(): readonly LocalRedis[] {
    return [...this.masters, ...this.replicas];
  }

  /** Addresses of the masters; each leads to all. */
  get urls(): readonly string[] {
    return this.masters.map(({ url }) => url);
  }

  /** Starts the nodes and returns when each of them knows all slots, and each master has its replica. */
  async start(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.start()));
    const clients = this.#nodes.map(({ url }) => new Redis(url));
    try {
      await Promise.all(
        clients.slice(0, masters).map((client, index) => {
          const from = Math.floor((slots * index) / masters);
          const to = Math.floor((slots * (index + 1)) / masters);
          // Ranges came with version 7.
          return client.call('CLUSTER', 'ADDSLOTS', ...Array.from({ length: to - from }, (_, at) => String(from + at)));
        }),
      );
      for (const [index, client] of clients.entries())
        await client.call('CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1));
      for (const { url } of this.#nodes.slice(1))
        await clients[0]?.call('CLUSTER', 'MEET', '127.0.0.1', new URL(url).port);
      await untilAll(
        clients,
        'CLUSTER INFO',
        (info) => info.includes(`cluster_known_nodes:${clients.length}`) && info.includes('cluster_state:ok'),
      );
      for (const [index, client] of clients.slice(masters).entries()) {
        const id = String(await clients[index]?.call('CLUSTER', 'MYID'));
        await client.call('CLUSTER', 'REPLICATE', id);
      }
      if (this.replicas.length > 0)
        await untilAll(clients.slice(0, masters), 'INFO replication', (info) => info.includes('state=online'));
    } finally {
      for (const client of clients) client.disconnect();
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.stop()));
  }
}

async function untilAll(clients: readonly Redis[], question: string, holds: (info: string) => boolean): Promise<void> {
  const [command = '', ...args] = question.split(' ');
  const limitMs = performance.now() + formedWithinMs;
  for (;;) {
    const infos = await Promise.all(clients.map((client) => client.call(command, ...args)));
    if (infos.every((info) => holds(String(info)))) return;
    if (performance.now() > limitMs) throw new Error(`no Redis Cluster was formed within ${formedWithinMs} ms`);
    await sleep(50);
  }
}
