import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterEach, describe, expect, it, vi } from 'vitest';

import { httpProbe } from '../../../src/adapters/http/health-probe.ts';
import { apiHealth } from '../../../src/pipeline/health/api-health.ts';
import { serve } from '../../../src/runtime/serve.ts';
import { ConfigFiles } from '../../support/config-file.ts';
import { httpAsk } from '../../support/http-ask.ts';
import { PipelineBench } from '../../support/pipeline-bench.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

const probe = httpProbe({ pathPrefix: '', path: '/health', headers: {}, expect: 200, withinMs: 3_000 });

describe('health checks', () => {
  it('S002-19, S002-20: /admin/api-health lists all upstreams: 200 healthy, 500 unhealthy, refused down, each with time or error', async () => {
    const asked: string[] = [];
    const listen = async (status: number): Promise<number> => {
      const server = createServer((request, response) => {
        asked.push(`${status} ${request.method ?? ''} ${request.url ?? ''}`);
        response.writeHead(status).end();
      });
      servers.push(server);
      await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
      return (server.address() as AddressInfo).port;
    };
    const [well, sick, gone] = [await listen(200), await listen(500), await listen(200)];
    servers.pop()?.close();
    const files = new ConfigFiles();
    const { config } = files.load(`
data: memory
logLevel: silent
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
upstreams:
  weather: { baseUrl: 'http://127.0.0.1:${well}', health: {} }
  news: { baseUrl: 'http://127.0.0.1:${sick}/v2', health: { path: /status } }
  stock: { baseUrl: 'http://127.0.0.1:${gone}', health: {} }
  ip: { targets: ['http://127.0.0.1:${well}', 'http://127.0.0.1:${gone}'] }
`);
    files.remove();
    const served = await serve(config, [], { worker: true, ingress: false });
    try {
      const admin = Number(new URL(served.adminUrl).port);
      const health = async (): Promise<Record<string, unknown>[]> => {
        const { text } = await httpAsk(admin, '/admin/api-health');
        return (JSON.parse(text) as { upstreams: Record<string, unknown>[] }).upstreams;
      };
      await vi.waitUntil(async () => (await health()).filter(({ check }) => check !== undefined).length === 3, 20_000);
      const time = { ms: expect.any(Number) as number, at: expect.any(String) as string };

      expect(Object.fromEntries((await health()).map(({ name, state, check }) => [name, { state, check }]))).toEqual({
        feishu: { state: 'healthy', check: undefined },
        weather: { state: 'healthy', check: { state: 'healthy', ...time } },
        news: { state: 'unhealthy', check: { state: 'unhealthy', error: 'HTTP 500 instead of 200', ...time } },
        stock: {
          state: 'down',
          check: { state: 'down', error: expect.stringContaining('ECONNREFUSED') as string, ...time },
        },
        ip: { state: 'healthy', check: undefined },
      });
      const [ip] = (await health()).filter(({ name }) => name === 'ip');
      expect(ip?.['targets']).toEqual(
        [well, gone].map((port) => ({ url: `http://127.0.0.1:${port}`, state: 'closed', inFlight: 0, usualMs: 0 })),
      );
      expect(asked.sort()).toEqual(['200 GET /health', '500 GET /v2/status']);
    } finally {
      await served.stop();
    }
  });

  it('S002-19: asks again 10 s after an answer, gives it 3 s, and never asks twice at a time', () => {
    const bench = new PipelineBench({ upstreams: { news: { health: { probe, intervalMs: 10_000 } } } });
    const upstream = bench.upstream('news');
    upstream.script = () => ({ hang: true });
    const running = bench.start();
    const check = () => apiHealth(running.house)[0]?.check;

    bench.run(2_999);
    expect([check(), upstream.attempts.length]).toEqual([undefined, 1]);
    bench.run(1);
    expect(check()).toMatchObject({ state: 'down', ms: 3_000 });
    upstream.script = () => ({ afterMs: 40 });
    bench.run(9_999);
    expect(upstream.attempts).toHaveLength(1);
    bench.run(41);
    expect(check()).toMatchObject({ state: 'healthy', ms: 40 });
    expect(apiHealth(running.house)[0]?.state).toBe('healthy');

    bench.run(10_000);
    expect(upstream.attempts).toHaveLength(3);
    running.crash();
    bench.run(60_000);
    expect(upstream.attempts).toHaveLength(3);
  });
});
