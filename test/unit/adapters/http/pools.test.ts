import { describe, expect, it } from 'vitest';

import { VirtualTime } from '../../../support/virtual-time.ts';

import { exchange, get, httpServer, openUpstream, socketIsFree, until } from './servers.ts';

describe('OriginPool', () => {
  it('S000-05: no request goes over a socket older than the limit, and the old one is closed', async () => {
    const clock = new VirtualTime();
    const server = await httpServer((_, response) => response.end('ok'));
    const { upstream } = openUpstream(server.url, { clock, maxAgeMs: 60_000 });
    await exchange(upstream, get);
    await socketIsFree();
    clock.advance(59_999);
    await exchange(upstream, get);
    await socketIsFree();
    expect(server.accepted()).toBe(1);
    clock.advance(1);
    await exchange(upstream, get);
    expect(server.accepted()).toBe(2);
    await until(() => server.sockets.size === 1);
  });

  it('lets a request end that runs while its socket grows too old', async () => {
    const clock = new VirtualTime();
    const held: (() => void)[] = [];
    const server = await httpServer((_, response) => {
      held.push(() => response.end('late'));
    });
    const { upstream } = openUpstream(server.url, { clock });
    const old = exchange(upstream, get);
    await until(() => held.length === 1);
    clock.advance(60_000);
    const young = exchange(upstream, get);
    await until(() => held.length === 2);
    for (const release of held) release();
    expect(await old).toMatchObject({ kind: 'answered', body: Buffer.from('late') });
    expect(await young).toMatchObject({ kind: 'answered', body: Buffer.from('late') });
  });

  it('opens no more sockets than allowed and says how many requests wait', async () => {
    let running = 0;
    const held: (() => void)[] = [];
    const server = await httpServer((_, response) => {
      running++;
      held.push(() => response.end());
    });
    const { upstream, pool } = openUpstream(server.url, { connections: 2 });
    const all = Array.from({ length: 5 }, () => exchange(upstream, get));
    await until(() => running === 2);
    expect(pool.stats).toMatchObject({ open: 2, running: 2 });
    expect(server.accepted()).toBe(2);
    const release = setInterval(() => held.splice(0).forEach((end) => end()), 1);
    await Promise.all(all);
    clearInterval(release);
    expect(server.accepted()).toBe(2);
  });
  it('gives new requests more sockets at once when it is resized, and lets those end that run', async () => {
    const held: (() => void)[] = [];
    const server = await httpServer((_, response) => {
      held.push(() => response.end('late'));
    });
    const { upstream, pool } = openUpstream(server.url, { connections: 1 });
    const old = exchange(upstream, get);
    await until(() => held.length === 1);
    pool.resize(3);
    const young = Array.from({ length: 3 }, () => exchange(upstream, get));
    await until(() => held.length === 4);
    for (const release of held) release();
    for (const one of [old, ...young]) expect(await one).toMatchObject({ kind: 'answered', body: Buffer.from('late') });
  });
});
