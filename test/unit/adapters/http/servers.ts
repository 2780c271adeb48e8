import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';

import { firstValueFrom } from 'rxjs';
import { onTestFinished } from 'vitest';

import { OriginPool, type PoolOptions } from '../../../../src/adapters/http/pools.ts';
import { HttpUpstream, type HttpUpstreamOptions } from '../../../../src/adapters/http/upstream.ts';
import { systemClock } from '../../../../src/adapters/system/clock.ts';
import type { Exchange } from '../../../../src/model/outcome.ts';
import type { Clock } from '../../../../src/ports/clock.ts';
import type { UpstreamRequest } from '../../../../src/ports/upstream.ts';

/** A server of the test, gone with it. */
export interface TestServer {
  readonly port: number;
  readonly url: string;
  readonly sockets: Set<Socket>;
  /** Sockets accepted so far. */
  readonly accepted: () => number;
  /** Sockets closed so far. */
  readonly closed: () => number;
  readonly close: () => Promise<void>;
}

export async function serve(server: Server, scheme = 'http'): Promise<TestServer> {
  const sockets = new Set<Socket>();
  let accepted = 0;
  let closed = 0;
  server.on('connection', (socket: Socket) => {
    accepted++;
    sockets.add(socket);
    socket.on('close', () => {
      closed++;
      sockets.delete(socket);
    });
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = () =>
    new Promise<void>((resolve) => {
      for (const socket of sockets) socket.destroy();
      server.close(() => {
        resolve();
      });
    });
  onTestFinished(close);
  return { port, url: `${scheme}://127.0.0.1:${port}`, sockets, accepted: () => accepted, closed: () => closed, close };
}

export const httpServer = (listener: RequestListener): Promise<TestServer> => serve(createHttpServer(listener));

/** A bare TCP server: `onData` sees what the client wrote. */
export const tcpServer = (onSocket: (socket: Socket) => void): Promise<TestServer> => serve(createTcpServer(onSocket));

export function openUpstream(
  url: string,
  options: PoolOptions & HttpUpstreamOptions & { readonly clock?: Clock } = {},
): { readonly upstream: HttpUpstream; readonly pool: OriginPool } {
  const pool = new OriginPool(url, options, options.clock ?? systemClock);
  onTestFinished(() => pool.close());
  return { upstream: new HttpUpstream(pool, options), pool };
}

export const post: UpstreamRequest = {
  method: 'POST',
  path: '/open-apis/im/v1/messages',
  headers: { 'content-type': 'application/json' },
  body: Buffer.from('{"a":1}'),
};

export const get: UpstreamRequest = { method: 'GET', path: '/', headers: {}, body: undefined };

export function exchange(upstream: HttpUpstream, request = post, timeoutMs = 5_000): Promise<Exchange> {
  return firstValueFrom(upstream.send(request, timeoutMs), {
    defaultValue: { kind: 'failed', failure: 'aborted', sent: false, message: 'completed empty' },
  });
}

/** Looks every millisecond until something is so; a real socket's end comes in its own time. */
export async function until(so: () => boolean, withinMs = 2_000): Promise<void> {
  const endMs = performance.now() + withinMs;
  while (!so()) {
    if (performance.now() > endMs) throw new Error('it never was so');
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/** undici gives a socket back in the turn after its answer. */
export async function socketIsFree(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
}
