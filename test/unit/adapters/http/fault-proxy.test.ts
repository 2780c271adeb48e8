import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingHttpHeaders, request } from 'node:http';
import { type AddressInfo, connect, createServer } from 'node:net';

import { afterEach, describe, expect, it, vi } from 'vitest';

import { startFaultProxy } from '../../../../src/adapters/http/fault-proxy.ts';
import type { InjectedFault } from '../../../../src/model/injected-fault.ts';
import { noLogger } from '../../../support/silent.ts';
import { VirtualTime } from '../../../support/virtual-time.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function proxied(rule?: InjectedFault, origins = new Map<string, string>(), port = 0) {
  const time = new VirtualTime();
  const faults = { decide: () => rule };
  const proxy = await startFaultProxy({ port, faults, origins, tls: undefined, timers: time, log: noLogger });
  closing.push(() => proxy.close());
  return { time, ...proxy, port: Number(new URL(proxy.url).port) };
}

/** A host that keeps the headers it was sent. */
async function host() {
  const seen: IncomingHttpHeaders[] = [];
  const server = createHttpServer((asked, reply) => {
    seen.push(asked.headers);
    reply.writeHead(200, { connection: 'x-own-hop', 'x-own-hop': '1', 'x-end': '1' }).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => server.close());
  return { seen, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

function ask(port: number, path: string, headers: Record<string, string> = {}) {
  const asking = request({ host: '127.0.0.1', port, path, headers: { host: 'far.test', ...headers }, agent: false });
  asking.on('error', () => undefined);
  asking.end();
  return asking;
}

async function answerOf(asking: ReturnType<typeof ask>) {
  const [answer] = (await once(asking, 'response')) as [
    { statusCode: number; headers: IncomingHttpHeaders; resume(): void },
  ];
  answer.resume();
  return answer;
}

describe('the fault proxy', () => {
  it('ends a request that comes back to itself with 508', async () => {
    const probe = createServer().listen(0, '127.0.0.1');
    await once(probe, 'listening');
    const { port } = probe.address() as AddressInfo;
    probe.close();
    await once(probe, 'close');
    await proxied(undefined, new Map([['far.test', `http://127.0.0.1:${port}`]]), port);
    expect((await answerOf(ask(port, 'http://far.test/x'))).statusCode).toBe(508);
  });

  it('sends on nothing that is for one hop alone, and names itself', async () => {
    const far = await host();
    const { port } = await proxied(undefined, new Map([['far.test', far.url]]));
    const hop = { connection: 'X-Hop, close', 'x-hop': '1', 'x-end': '1', via: '1.1 another' };
    const { headers } = await answerOf(ask(port, 'http://far.test/x', hop));
    expect(far.seen).toMatchObject([
      { 'x-end': '1', via: expect.stringMatching(/^1\.1 another, 1\.1 larkspur-/) as string },
    ]);
    expect([far.seen[0]?.['x-hop'], headers['x-own-hop'], headers['x-end']]).toEqual([undefined, undefined, '1']);
  });

  it('forgets a request that was to be late when nobody waits for it any more', async () => {
    const { port, time } = await proxied({ kind: 'latency', delayMs: 60_000 });
    const asking = ask(port, 'http://far.test/x');
    await vi.waitFor(() => expect(time.pending).toBe(1));
    asking.destroy();
    await vi.waitFor(() => expect(time.pending).toBe(0));
  });

  it('opens no tunnel for a client that has gone before it said a word', async () => {
    const opened: string[] = [];
    const far = createServer((socket) => {
      socket.on('data', (chunk) => opened.push(String(chunk))).on('error', () => undefined);
      opened.push('opened');
    }).listen(0, '127.0.0.1');
    await once(far, 'listening');
    closing.push(() => far.close());
    const { port, time } = await proxied();
    const tunnelled = async () => {
      const client = connect(port, '127.0.0.1');
      client.write(`CONNECT 127.0.0.1:${(far.address() as AddressInfo).port} HTTP/1.1\r\n\r\n`);
      await once(client, 'data');
      return client;
    };
    const gone = await tunnelled();
    gone.destroy();
    await once(gone, 'close');
    // Two ways there and back: by then the proxy has heard of it.
    closing.push(...[await tunnelled()].map((other) => () => other.destroy()));
    const stays = await tunnelled();
    closing.push(() => stays.destroy());
    time.advance(1_000);
    await vi.waitFor(() => expect(opened).toContain('opened'));
    stays.write('hello');
    await vi.waitFor(() => expect(opened).toContain('hello'));
    expect(opened.filter((what) => what === 'opened')).toHaveLength(2);
  });
});
