import { readFileSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:tls';

import { describe, expect, it } from 'vitest';

import { exchange, httpServer, openUpstream, post, serve, socketIsFree, tcpServer, until } from './servers.ts';

const fixture = (name: string) => readFileSync(new URL(`fixtures/${name}`, import.meta.url), 'utf8');
const tls = { key: fixture('localhost-key.pem'), cert: fixture('localhost-cert.pem') };

describe('HttpUpstream, outcome unknown', () => {
  it('P22: a reset after the request was written counts as sent', async () => {
    const server = await tcpServer((socket) => socket.once('data', () => socket.resetAndDestroy()));
    const { upstream } = openUpstream(server.url);
    expect(await exchange(upstream)).toMatchObject({ kind: 'failed', failure: 'reset', sent: true });
  });

  it('a connection that is cut in the middle of a body is no answer', async () => {
    const server = await tcpServer((socket) =>
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc')),
    );
    const { upstream } = openUpstream(server.url);
    expect(await exchange(upstream)).toMatchObject({ kind: 'failed', failure: 'reset', sent: true });
  });

  it('a chunked body that is cut is no answer', async () => {
    const server = await tcpServer((socket) =>
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nabc')),
    );
    const { upstream } = openUpstream(server.url);
    expect(await exchange(upstream)).toMatchObject({ kind: 'failed', failure: 'reset', sent: true });
  });

  it('what is no HTTP is told as such', async () => {
    const server = await tcpServer((socket) => socket.once('data', () => socket.end('220 smtp ready\r\n')));
    const { upstream } = openUpstream(server.url);
    expect(await exchange(upstream)).toMatchObject({ kind: 'failed', failure: 'bad-response', sent: true });
  });

  it.each([
    ['never answers', (): void => undefined],
    [
      'answers the head and no body',
      (write: (text: string) => void): void => {
        write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n');
      },
    ],
    [
      'drips its body',
      (write: (text: string) => void): void => {
        write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n');
        setInterval(() => {
          write('x');
        }, 10).unref();
      },
    ],
  ])(
    'S000-13, S002-04: a server that %s is given up at the set time, and its socket closes then',
    async (_, behave) => {
      const server = await tcpServer((socket) =>
        socket.once('data', () => {
          behave((text) => socket.writable && socket.write(text));
        }),
      );
      const { upstream } = openUpstream(server.url);
      const startMs = performance.now();
      const result = await exchange(upstream, post, 1_000);
      const tookMs = performance.now() - startMs;
      expect(result).toMatchObject({ kind: 'failed', failure: 'attempt-timeout', sent: true });
      expect(tookMs).toBeGreaterThanOrEqual(1_000);
      // The dripping body would be whole after ten seconds, the silent ones never.
      expect(tookMs).toBeLessThan(8_000);
      await until(() => server.closed() === 1);
    },
  );

  it('unsubscribing closes the socket of that attempt and leaves the others alone', async () => {
    let count = 0;
    const server = await httpServer((_, response) => {
      count++;
      if (count === 2) setTimeout(() => response.end('kept'), 50);
    });
    const { upstream } = openUpstream(server.url);
    const abandoned = upstream.send(post, 5_000).subscribe({
      next: () => expect.unreachable('an abandoned attempt emits nothing'),
      error: () => expect.unreachable('nor does it fail'),
    });
    await until(() => count === 1);
    const kept = exchange(upstream);
    await until(() => count === 2);
    abandoned.unsubscribe();
    await until(() => server.closed() === 1);
    expect(await kept).toMatchObject({ kind: 'answered', body: Buffer.from('kept') });
  });

  it('goes on with a fresh socket when the server has closed the idle one', async () => {
    const server = await httpServer((_, response) => response.end('ok'));
    const { upstream } = openUpstream(server.url);
    await exchange(upstream);
    for (const socket of server.sockets) socket.destroy();
    await until(() => server.sockets.size === 0);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await exchange(upstream)).toMatchObject({ kind: 'answered' });
    expect(server.accepted()).toBe(2);
  });

  it('a reused socket that the server closes on the next request counts as sent', async () => {
    const server = await tcpServer((socket) => {
      let requests = 0;
      socket.on('data', () => {
        if (++requests === 1) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
        else socket.destroy();
      });
    });
    const { upstream } = openUpstream(server.url);
    expect(await exchange(upstream)).toMatchObject({ kind: 'answered' });
    await socketIsFree();
    expect(await exchange(upstream)).toMatchObject({ kind: 'failed', failure: 'reset', sent: true });
    expect(server.accepted()).toBe(1);
  });
});

describe('HttpUpstream over TLS', () => {
  it('a connection that ends after the handshake and the request counts as sent', async () => {
    const server = await serve(
      createTlsServer(tls, (socket) => socket.once('data', () => socket.destroy())),
      'https',
    );
    const { upstream } = openUpstream(server.url, { ca: tls.cert });
    expect(await exchange(upstream)).toMatchObject({ kind: 'failed', failure: 'reset', sent: true });
  });
});
