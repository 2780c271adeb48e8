import { readdirSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterEach, describe, expect, it, vi } from 'vitest';

import type { RawConfig } from '../../../src/config/schema.ts';
import { serve } from '../../../src/runtime/serve.ts';
import { benchConfig, embeddedWorker } from '../../bench/embedded-worker.ts';
import { httpAsk } from '../../support/http-ask.ts';

vi.setConfig({ testTimeout: 90_000 });

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** An upstream that answers after so long, or never; it knows the most requests and the most sockets that it had at once. */
async function upstream(answerMs: number | undefined) {
  const now = { requests: 0, sockets: 0 };
  const most = { requests: 0, sockets: 0 };
  const server = createServer((_, response) => {
    most.requests = Math.max(most.requests, ++now.requests);
    response.once('close', () => now.requests--);
    if (answerMs !== undefined) setTimeout(() => response.end('{}'), answerMs);
  });
  server.on('connection', (socket) => {
    most.sockets = Math.max(most.sockets, ++now.sockets);
    socket.once('close', () => now.sockets--);
  });
  servers.push(server);
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', 4_096, listening));
  return { most, baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const patient = { timeouts: { connectMs: 20_000, attemptMs: 20_000, totalMs: 30_000 } };

describe('a house that is full', () => {
  it.skipIf(process.platform !== 'linux')(
    'S004-04: has 2,000 calls in flight at once without a thread more',
    async () => {
      const { baseUrl, most } = await upstream(1_000);
      const wide = { baseUrl, concurrency: 2_000, bucketConcurrency: 2_000, ...patient };
      const worker = embeddedWorker(benchConfig({ worker: { inFlight: 2_000 }, upstreams: { slow: wide } }));
      const threads = (): number => readdirSync('/proc/self/task').length;
      try {
        const before = threads();
        const ended = Array.from({ length: 4_000 }, (_, n) =>
          worker.call({ id: `c-${n}`, upstream: 'slow', path: '/' }),
        );
        await vi.waitUntil(() => most.requests === 2_000, 30_000);
        const during = threads();
        const topics = (await Promise.all(ended)).map(({ topic }) => topic);

        expect(new Set(topics)).toEqual(new Set(['results']));
        expect(most.requests).toBe(2_000);
        expect(during).toBeLessThanOrEqual(before);
      } finally {
        await worker.close();
      }
    },
  );

  it('S004-35: auth has 50 sockets and route 200, however many calls there are, and auth does not wait for route', async () => {
    const [auth, route] = [await upstream(50), await upstream(undefined)];
    const settings = { preset: 'gateway', concurrency: 400, bucketConcurrency: 400, ...patient } as const;
    const upstreams: RawConfig['upstreams'] = {
      auth: { ...settings, baseUrl: auth.baseUrl },
      route: { ...settings, baseUrl: route.baseUrl },
    };
    const worker = embeddedWorker(benchConfig({ drainMs: 100, worker: { inFlight: 1_000 }, upstreams }));
    try {
      const calls = (name: string) =>
        Array.from({ length: 400 }, (_, n) => worker.call({ id: `${name}-${n}`, upstream: name, path: '/' }));
      const hanging = calls('route');
      await vi.waitUntil(() => route.most.sockets === 200, 30_000);
      // Whatever ends first: had auth to wait for route, one of route would.
      const first = await Promise.race([Promise.all(calls('auth')), ...hanging]);

      expect(Array.isArray(first) && new Set(first.map(({ topic }) => topic))).toEqual(new Set(['results']));
      expect([auth.most.sockets, route.most.sockets]).toEqual([50, 200]);
    } finally {
      await worker.close();
    }
  });

  it('S004-07: is alive and ready while all upstreams hang and nothing more fits in', async () => {
    const { baseUrl, most } = await upstream(undefined);
    const config = benchConfig({
      listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' },
      logLevel: 'silent',
      drainMs: 100,
      worker: { ring: { capacity: 64, highItems: 32, lowItems: 8 }, lanes: { items: 64 } },
      upstreams: { news: { baseUrl, ...patient }, stock: { baseUrl, ...patient } },
    });
    const served = await serve(config, [], { worker: true, ingress: false });
    try {
      for (let n = 0; n < 5_000; n++) {
        const value = Buffer.from(
          JSON.stringify({ id: `c-${n}`, upstream: n % 2 === 0 ? 'news' : 'stock', path: '/' }),
        );
        served.stores.sink
          .append({ topic: 'calls', key: Buffer.from(`k-${n}`), value, headers: [] })
          .subscribe({ error: (error: unknown) => expect.fail(String(error)) });
      }
      const { rings } = served.worker!.house;
      const full = (): boolean =>
        [...rings.stats()].filter(({ partition: { topic } }) => topic === 'calls').every(({ paused }) => paused);
      await vi.waitUntil(() => most.requests >= 64 && full(), 30_000);
      const admin = Number(new URL(served.adminUrl).port);
      const asked = await Promise.all(
        Array.from({ length: 20 }, (_, n) => httpAsk(admin, n % 2 === 0 ? '/livez' : '/readyz')),
      );

      expect(asked.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
    } finally {
      await served.stop();
    }
  });
});
