import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { describe as shownOf } from '../../../src/config/describe.ts';
import { serve, type Served } from '../../../src/runtime/serve.ts';
import { ConfigFiles } from '../../support/config-file.ts';
import { httpAsk } from '../../support/http-ask.ts';
import { reloads } from '../../support/reloading.ts';

const soon = { timeout: 30_000, interval: 20 };
vi.setConfig({ testTimeout: 60_000 });

const files = new ConfigFiles();
afterAll(() => files.remove());

describe('groups of the APIs of an upstream, as they are configured', () => {
  it('have what their upstream has, but for what they say themselves and what follows from that', () => {
    const loaded = files.load(`
upstreams:
  shop:
    baseUrl: http://shop
    concurrency: 40
    breaker: { consecutiveFailures: 7 }
    groups:
      search: { paths: ['/search*'], concurrency: 5, timeouts: { attemptMs: 500 }, retry: off }
      orders: { paths: ['/orders', '/orders/*'] }
`);
    const [search, orders] = loaded.config.upstreams['shop']?.groups ?? [];
    expect(search?.policies).toMatchObject({ concurrency: 5, connections: 5, concurrencyFloor: 4, retry: 'off' });
    expect(search?.policies.timeouts).toEqual({ connectMs: 500, attemptMs: 500, totalMs: 10_000 });
    expect(search?.policies.breaker).toMatchObject({ consecutiveFailures: 7, probeLeaseMs: 5_500 });
    expect(orders?.policies).toMatchObject({ concurrency: 40, connections: 40 });

    const shown = new Map(shownOf(loaded).map(({ path, value, source }) => [path, `${value} ${source}`]));
    const file = loaded.file ?? '';
    expect(shown.get('upstreams.shop.groups.search.concurrency')).toBe(`5 ${file}:8`);
    expect(shown.get('upstreams.shop.groups.search.connections')).toBe('5 default');
    expect(shown.get('upstreams.shop.groups.search.breaker.consecutiveFailures')).toBe(`7 ${file}:6`);
    expect(shown.get('upstreams.shop.groups.orders.timeouts.attemptMs')).toBe('3000 default');
  });

  it('are checked as their upstream is, and say which calls are of them', () => {
    expect(
      files.mistakes(`
upstreams:
  shop:
    baseUrl: http://shop
    groups:
      a: { concurrency: 5 }
      b: { paths: [/b], timeouts: { connectMs: 5000, attemptMs: 500 } }
      c: { tier: { perSecond: 5 } }
      e: { paths: [/e], breaker: { probe: { path: /up } } }
  off: { baseUrl: http://off, breaker: off, groups: { d: { paths: [/d], breaker: { consecutiveFailures: 3 } } } }
`),
    ).toEqual([
      'upstreams.shop.groups.a (FILE:6): must have paths or tier: which calls are of the group',
      'upstreams.shop.groups.b.timeouts.connectMs (FILE:7): is 5000, must not be above upstreams.shop.groups.b.timeouts.attemptMs (500)',
      'upstreams.shop.groups.c.tier (FILE:8): is only for profile feishu: of its APIs the tiers are known',
      'upstreams.shop.groups.e.breaker.probe (FILE:9): has no effect: upstreams.shop.breaker.probe asks for all of its groups',
      'upstreams.off.groups.d.breaker (FILE:10): has nothing to stand beside: the upstream has breaker off, give the group off, too',
    ]);
  });
});

describe('groups of the APIs of an upstream, at work', () => {
  let server: Server;
  let served: Served;
  const seen: string[] = [];
  const hanging: ServerResponse[] = [];
  let sick = false;
  let hang = false;
  let most: Record<string, number> = {};
  const open: Record<string, number> = {};
  beforeEach(async () => {
    seen.length = 0;
    most = {};
    server = createServer((request, response) => {
      const path = request.url ?? '';
      const group = path.startsWith('/search') ? 'search' : 'others';
      seen.push(path);
      open[group] = (open[group] ?? 0) + 1;
      most[group] = Math.max(most[group] ?? 0, open[group]);
      response.on('close', () => (open[group] = (open[group] ?? 1) - 1));
      if (group === 'search' && hang) {
        hanging.push(response);
        return;
      }
      response.writeHead(group === 'search' && sick ? 503 : 200).end('{}');
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  });
  afterEach(async () => {
    sick = false;
    hang = false;
    for (const response of hanging.splice(0)) response.end('{}');
    await served.stop();
    server.close();
  });

  const write = (search: string, more = ''): string =>
    files.write(`
data: memory
logLevel: silent
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
upstreams:
  shop:
    baseUrl: 'http://127.0.0.1:${(server.address() as AddressInfo).port}'
    concurrency: 20
    timeouts: { connectMs: 10000, attemptMs: 10000, totalMs: 30000 }${more}
    groups: { search: { paths: ['/search*'], ${search} } }
`);
  async function start(search: string) {
    const file = write(search);
    const load = () => files.loadFile(file).config;
    served = await serve(load(), [], { worker: true, ingress: true }, { file, load });
    const ingress = Number(new URL(served.ingressUrl ?? '').port);
    const admin = Number(new URL(served.adminUrl).port);
    return {
      call: (path: string, wait = '3s') =>
        httpAsk(ingress, `/v1/calls?wait=${wait}`, {
          method: 'POST',
          body: JSON.stringify({ upstream: 'shop', method: 'GET', path, ttlMs: 8_000 }),
        }),
      metric: async (line: string): Promise<number> => {
        const { text } = await httpAsk(admin, '/metrics');
        return Number(
          text
            .split('\n')
            .find((one) => one.startsWith(line))
            ?.split(' ')[1] ?? NaN,
        );
      },
    };
  }
  const breakers = () =>
    new Map(
      [...(served.worker!.house.destinations.get('shop')?.breakers?.entries() ?? [])].map(([key, breaker]) => [
        key.replace(/^[^/]*\//, ''),
        breaker,
      ]),
    );

  it('have breakers of their own: one that is open leaves the other calls of the upstream alone', async () => {
    sick = true;
    const { call } = await start(
      'retry: off, breaker: { consecutiveFailures: 3, coolDownMs: 60000, maxOpenMs: 60000 }',
    );
    for (let n = 0; n < 3; n++) await call(`/search/${n}`);
    expect((await call('/search/more')).status).toBe(503);
    expect(seen).not.toContain('/search/more');

    for (let n = 0; n < 5; n++) expect((await call(`/items/${n}`)).status).toBe(200);
    expect([...breakers()].map(([key, one]) => [key, one.snapshot(performance.now()).state])).toEqual(
      expect.arrayContaining([
        ['shop/group/search', 'open'],
        ['shop', 'closed'],
      ]),
    );
  });

  it('have slots and sockets of their own: those that hang take none of the others, and the page shows both', async () => {
    hang = true;
    const { call, metric } = await start('concurrency: 2');
    const searches = Array.from({ length: 10 }, (_, n) => call(`/search/${n}`, '20s'));
    await vi.waitFor(() => expect(hanging).toHaveLength(2), soon);
    const others = await Promise.all(Array.from({ length: 30 }, (_, n) => call(`/items/${n}`)));
    expect(new Set(others.map(({ status }) => status))).toEqual(new Set([200]));
    expect(most['search']).toBe(2);
    expect(await metric('larkspur_in_flight{upstream="shop/search"}')).toBe(2);
    expect(await metric('larkspur_concurrency_limit{upstream="shop"}')).toBe(20);

    hang = false;
    for (const response of hanging.splice(0)) response.end('{}');
    const found = await Promise.all(searches);
    expect(new Set(found.map(({ status }) => status))).toEqual(new Set([200]));
    expect(most['search']).toBe(2);
  });

  it('follow a changed file: their numbers at once, the breaker of the others keeps its state', async () => {
    hang = true;
    const { call } = await start('concurrency: 2, breaker: { consecutiveFailures: 3 }');
    await call('/items/1');
    const before = breakers().get('shop');
    const searches = Array.from({ length: 6 }, (_, n) => call(`/search/${n}`, '20s'));
    await vi.waitFor(() => expect(hanging).toHaveLength(2), soon);

    write('concurrency: 5, breaker: { consecutiveFailures: 4 }');
    await vi.waitFor(async () => expect(await reloads(served, 'applied')).toBe(1), soon);
    await vi.waitFor(() => expect(hanging).toHaveLength(5), soon);
    expect(breakers().get('shop')).toBe(before);
    const group = served.worker!.house.destinations.get('shop')?.groups.get('search');
    expect([group?.width.limit, group?.slots.limit]).toEqual([5, 5]);
    hang = false;
    for (const response of hanging.splice(0)) response.end('{}');
    expect(new Set((await Promise.all(searches)).map(({ status }) => status))).toEqual(new Set([200]));
  });
});
