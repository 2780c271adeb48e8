import { readFileSync } from 'node:fs';
import { createServer as createHttpsServer } from 'node:https';
import { createServer as createTcpServer } from 'node:net';

import { describe, expect, it } from 'vitest';

import { exchange, get, httpServer, openUpstream, post, serve, socketIsFree, tcpServer, until } from './servers.ts';

const fixture = (name: string) => readFileSync(new URL(`fixtures/${name}`, import.meta.url), 'utf8');
const tls = { key: fixture('localhost-key.pem'), cert: fixture('localhost-cert.pem') };

describe('HttpUpstream, answered', () => {
  it('brings status, header names in lower case and the whole body, over one socket for calls in turn', async () => {
    const seen: string[] = [];
    const server = await httpServer((request, response) => {
      let body = '';
      request.on('data', (chunk) => (body += String(chunk)));
      request.on('end', () => {
        seen.push(`${request.method ?? ''} ${request.url ?? ''} ${String(request.headers['x-mark'])} ${body}`);
        response.writeHead(201, { 'X-Tt-Logid': 'log1', 'Set-Cookie': ['a=1', 'b=2'] });
        response.write('first,');
        setTimeout(() => response.end('second'), 5);
      });
    });
    const { upstream } = openUpstream(server.url);
    const request = { ...post, path: '/a?b=c', headers: { ...post.headers, 'x-mark': 'm' } };
    const answered = { kind: 'answered', status: 201, body: Buffer.from('first,second') };
    for (let i = 0; i < 3; i++) {
      const result = await exchange(upstream, request);
      expect(result).toMatchObject(answered);
      expect(result).toHaveProperty('headers.x-tt-logid', 'log1');
      expect(result).toHaveProperty('headers.set-cookie', 'a=1, b=2');
      await socketIsFree();
    }
    expect(seen).toEqual(Array.from({ length: 3 }, () => 'POST /a?b=c m {"a":1}'));
    expect(server.accepted()).toBe(1);
  });

  it('sends nothing before somebody subscribes', async () => {
    const server = await httpServer((_, response) => response.end());
    const { upstream } = openUpstream(server.url);
    void upstream.send(get, 1_000);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(server.accepted()).toBe(0);
  });

  it('reads an answer without a body', async () => {
    const server = await httpServer((_, response) => response.writeHead(503).end());
    const { upstream } = openUpstream(server.url);
    expect(await exchange(upstream)).toMatchObject({ kind: 'answered', status: 503, body: Buffer.alloc(0) });
  });

  it('lets each answer start the next call at once', async () => {
    const server = await httpServer((_, response) => response.end('x'));
    const { upstream } = openUpstream(server.url, { connections: 2 });
    const kinds = await new Promise<string[]>((resolve, reject) => {
      const seen: string[] = [];
      const next = (): void => {
        upstream.send(get, 5_000).subscribe({
          next: ({ kind }) => {
            if (seen.push(kind) === 200) resolve(seen);
            else next();
          },
          error: reject,
        });
      };
      next();
    });
    expect(kinds).toEqual(Array.from({ length: 200 }, () => 'answered'));
    expect(server.accepted()).toBeLessThanOrEqual(2);
  });
});

describe('HttpUpstream, nothing sent', () => {
  it('P22: a refused connection has sent nothing', async () => {
    const server = await tcpServer(() => undefined);
    const { upstream } = openUpstream(server.url);
    await server.close();
    expect(await exchange(upstream)).toMatchObject({ kind: 'failed', failure: 'refused', sent: false });
  });

  it('S000-05: a name that cannot be resolved has sent nothing', async () => {
    const { upstream } = openUpstream('http://nobody.invalid');
    expect(await exchange(upstream)).toMatchObject({ kind: 'failed', failure: 'dns', sent: false });
  });

  it('P22: a TLS handshake that is cut short has sent nothing', async () => {
    const server = await tcpServer((socket) => socket.destroy());
    const { upstream } = openUpstream(server.url.replace('http:', 'https:'));
    expect(await exchange(upstream)).toMatchObject({ kind: 'failed', failure: 'reset', sent: false });
  });

  it('a server that speaks no TLS has sent nothing', async () => {
    const server = await httpServer((_, response) => response.end());
    const { upstream } = openUpstream(server.url.replace('http:', 'https:'));
    expect(await exchange(upstream)).toMatchObject({ kind: 'failed', failure: 'tls', sent: false });
  });

  it('P22: a certificate that nobody vouches for is told apart, and sends nothing', async () => {
    let requests = 0;
    const server = await serve(
      createHttpsServer(tls, () => requests++),
      'https',
    );
    const { upstream } = openUpstream(server.url);
    expect(await exchange(upstream)).toMatchObject({ kind: 'failed', failure: 'certificate', sent: false });
    expect(requests).toBe(0);
  });

  it('a certificate from a configured authority is accepted', async () => {
    const server = await serve(
      createHttpsServer(tls, (_, response) => response.end('ok')),
      'https',
    );
    const { upstream } = openUpstream(server.url, { ca: tls.cert });
    expect(await exchange(upstream)).toMatchObject({ kind: 'answered', status: 200 });
  });

  it('a TLS handshake that hangs ends at the connect time-out', async () => {
    const server = await serve(
      createTcpServer((socket) => socket.resume()),
      'https',
    );
    const { upstream } = openUpstream(server.url, { connectTimeoutMs: 100 });
    expect(await exchange(upstream)).toMatchObject({ kind: 'failed', failure: 'connect-timeout', sent: false });
  });

  it('an attempt that times out while it waits for a socket has sent nothing, and is not sent later', async () => {
    const urls: string[] = [];
    let release: (() => void) | undefined;
    const server = await httpServer((request, response) => {
      urls.push(request.url ?? '');
      release = () => response.end();
      if (urls.length > 1) response.end();
    });
    const { upstream } = openUpstream(server.url, { connections: 1 });
    const first = exchange(upstream, { ...get, path: '/first' });
    await until(() => urls.length === 1);
    const late = await exchange(upstream, { ...get, path: '/late' }, 50);
    expect(late).toMatchObject({ kind: 'failed', failure: 'attempt-timeout', sent: false });
    release?.();
    expect(await first).toMatchObject({ kind: 'answered' });
    expect(await exchange(upstream, { ...get, path: '/third' })).toMatchObject({ kind: 'answered' });
    expect(urls).toEqual(['/first', '/third']);
  });

  it('after the pool is closed an attempt ends as aborted', async () => {
    const server = await httpServer((_, response) => response.end());
    const { upstream, pool } = openUpstream(server.url);
    await pool.close();
    expect(await exchange(upstream)).toMatchObject({ kind: 'failed', failure: 'aborted', sent: false });
  });

  it('a request that cannot be written ends at once and sends nothing', async () => {
    const server = await httpServer((_, response) => response.end());
    const { upstream } = openUpstream(server.url);
    const result = await exchange(upstream, { ...get, headers: { 'x-a': 'b\r\nc: d' } });
    expect(result).toMatchObject({ kind: 'failed', failure: 'bad-response', sent: false });
    expect(server.accepted()).toBe(0);
  });
});

describe('HttpUpstream, size', () => {
  it.each([
    ['announced', (body: Buffer) => ({ 'content-length': body.length })],
    ['streamed', () => ({})],
  ])('an answer that is %s above the limit is given up and its socket closed', async (_, headers) => {
    const body = Buffer.alloc(300_000, 'x');
    const server = await httpServer((_request, response) => {
      response.writeHead(200, headers(body));
      response.end(body);
    });
    const { upstream } = openUpstream(server.url, { maxResponseBytes: 200_000 });
    expect(await exchange(upstream)).toMatchObject({ kind: 'failed', failure: 'response-too-large', sent: true });
    await until(() => server.closed() === 1);
  });

  it('an answer just at the limit is taken', async () => {
    const server = await httpServer((_, response) => response.end(Buffer.alloc(1_000)));
    const { upstream } = openUpstream(server.url, { maxResponseBytes: 1_000 });
    expect(await exchange(upstream)).toMatchObject({ kind: 'answered' });
  });
});
