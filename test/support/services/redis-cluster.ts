import { setTimeout as sleep } from 'node:timers/promises';

import { Redis } from 'ioredis';

import { LocalRedis } from './local-redis.ts';

const slots = 16_384;
const formedWithinMs = 60_000;

/** A Redis Cluster of three masters on this machine, formed by hand: it needs no redis-cli. */
export class RedisCluster {
  readonly #nodes = [0, 1, 2].map(
    () => new LocalRedis({ args: ['--cluster-enabled', 'yes', '--cluster-node-timeout', '5000'] }),
  );

  /** Addresses of the nodes; each leads to all. */
  get urls(): readonly string[] {
    return this.#nodes.map(({ url }) => url);
  }

  /** Starts the nodes and returns when each of them knows all slots. */
  async start(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.start()));
    const clients = this.urls.map((url) => new Redis(url));
    try {
      const [, ...others] = this.urls.map((url) => new URL(url).port);
      await Promise.all(
        clients.map((client, index) => {
          const from = Math.floor((slots * index) / clients.length);
          const to = Math.floor((slots * (index + 1)) / clients.length);
          // Ranges came with version 7.
          return client.call('CLUSTER', 'ADDSLOTS', ...Array.from({ length: to - from }, (_, at) => String(from + at)));
        }),
      );
      for (const [index, client] of clients.entries())
        await client.call('CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1));
      for (const port of others) await clients[0]?.call('CLUSTER', 'MEET', '127.0.0.1', port);
      const limitMs = performance.now() + formedWithinMs;
      while (!(await this.#formed(clients))) {
        if (performance.now() > limitMs) throw new Error(`no Redis Cluster was formed within ${formedWithinMs} ms`);
        await sleep(50);
      }
    } finally {
      for (const client of clients) client.disconnect();
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.stop()));
  }

  async #formed(clients: readonly Redis[]): Promise<boolean> {
    const infos = await Promise.all(clients.map((client) => client.call('CLUSTER', 'INFO')));
    return infos.every((info) => /cluster_state:ok/.test(String(info)) && /cluster_known_nodes:3/.test(String(info)));
  }
}
