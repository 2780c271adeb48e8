import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Client, ProxyAgent, request as ask } from 'undici';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { openFaultProxy } from '../../../src/runtime/chaos/proxy.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox-api.ts';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { RememberingLogger } from '../../support/remembering-logger.ts';

vi.setConfig({ testTimeout: 30_000 });

const fixture = (name: string) => join(import.meta.dirname, '../adapters/http/fixtures', name);
const [certFile, keyFile] = [fixture('localhost-cert.pem'), fixture('localhost-key.pem')];

let folder: string;
let sandbox: Sandbox;
const closing: (() => Promise<void>)[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'larkspur-proxy-'));
  sandbox = await createSandbox({ settings: { tierMode: 'off', chatPerSecond: 0 } });
});

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  await sandbox.close();
  await rm(folder, { recursive: true });
});

/** A proxy with these rules, before the hosts of Feishu, which the sandbox plays. */
async function proxied(
  rules: object[],
  origins = ['open.feishu.cn', 'bot-api.feishu.cn'].map((host) => `${host}=${sandbox.url}`),
  tls = false,
) {
  const file = join(folder, 'rules.json');
  const write = (next: object[]) => writeFile(file, JSON.stringify({ rules: next }));
  await write(rules);
  const log = new RememberingLogger();
  const cert = { certFile: tls ? certFile : undefined, keyFile: tls ? keyFile : undefined };
  const proxy = await openFaultProxy({ port: 0, rules: file, origins, log, ...cert });
  closing.push(() => proxy.close());
  return { ...proxy, write, log };
}

/** What a client gets that is told of the proxy by `HTTP_PROXY`: it asks it for whole addresses. */
function through(proxyUrl: string, url: string, patienceMs = 10_000) {
  return new Promise<{ status: number | string; text: string }>((resolve) => {
    const { hostname, port } = new URL(proxyUrl);
    const asking = request(
      { hostname, port, path: url, headers: { host: new URL(url).host }, agent: false },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('error', () => resolve({ status: 'cut', text: '' }));
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text: String(Buffer.concat(chunks)) }));
      },
    );
    asking.on('error', (error: NodeJS.ErrnoException) => resolve({ status: error.code ?? 'error', text: '' }));
    asking.setTimeout(patienceMs, () => {
      resolve({ status: 'no answer', text: '' });
      asking.destroy();
    });
    asking.end();
  });
}

describe('S000-74: the fault proxy in front of a client that knows nothing of it', () => {
  it('hits only the host and path of its rule', async () => {
    const { url } = await proxied([{ kind: '503', match: { host: 'open.feishu.cn', path: '/echo/messages' } }]);
    const status = async (to: string) => (await through(url, to)).status;
    expect(await status('http://open.feishu.cn/echo/messages/1')).toBe(503);
    expect(await status('http://open.feishu.cn/echo/contacts')).toBe(200);
    expect(await status('http://bot-api.feishu.cn/echo/messages/1')).toBe(200);
    expect(sandbox.stats().byStatus).toEqual({ 200: 2 });
  });

  it('lets what no rule is for go on as it came: method, query, headers, body, and back', async () => {
    const { url } = await proxied([]);
    const agent = new ProxyAgent({ uri: url });
    closing.push(() => agent.close());
    const { statusCode, body, headers } = await ask('http://open.feishu.cn/echo/x?a=1&b=%20', {
      ...{ method: 'POST', dispatcher: agent, body: JSON.stringify({ n: 1 }) },
      headers: { 'content-type': 'application/json', 'x-own': 'yes' },
    });
    expect(statusCode).toBe(200);
    expect(headers['x-tt-logid']).toBeDefined();
    expect(await body.json()).toMatchObject({
      ...{ method: 'POST', path: '/echo/x', query: { a: '1', b: ' ' }, body: { n: 1 } },
      headers: { 'x-own': 'yes' },
    });
  });

  it.each([
    ['timeout', { kind: 'timeout' }, 'no answer', 0],
    ['timeout that acts', { kind: 'timeout', acts: true }, 'no answer', 1],
    ['reset', { kind: 'reset' }, 'ECONNRESET', 0],
    ['reset that acts', { kind: 'reset', acts: true }, 'ECONNRESET', 1],
    ['429', { kind: '429', resetSeconds: 9 }, 429, 0],
    ['latency', { kind: 'latency', delayMs: 50 }, 200, 1],
  ])('plays a %s', async (_what, rule, status, arrivals) => {
    const { url } = await proxied([rule]);
    const patienceMs = status === 'no answer' ? 400 : undefined;
    expect((await through(url, 'http://open.feishu.cn/echo/x', patienceMs)).status).toBe(status);
    // What went on to the sandbox has come there before what asks it now.
    await (await fetch(`${sandbox.url}/echo/after`)).text();
    await vi.waitFor(() => expect(sandbox.stats().arrivals).toBe(arrivals + 1), { timeout: 10_000 });
  });

  it('follows its rules while it runs, and keeps those before a mistake', async () => {
    const { url, write, log } = await proxied([{ kind: '503' }]);
    const status = async () => (await through(url, 'http://open.feishu.cn/echo/x')).status;
    expect(await status()).toBe(503);
    await write([{ kind: 'nonsense' }]);
    await vi.waitFor(() => expect(log.text).toContain('the fault rules have mistakes'), { timeout: 10_000 });
    expect(await status()).toBe(503);
    await write([]);
    await vi.waitFor(async () => expect(await status()).toBe(200), { timeout: 10_000, interval: 100 });
  });

  it('takes a client that a host name led here', async () => {
    const { url } = await proxied([{ kind: '503', match: { host: 'open.feishu.cn' } }]);
    const client = new Client(url);
    closing.push(() => client.close());
    const status = async (host: string) => {
      const answer = await client.request({ method: 'GET', path: '/echo/x', headers: { host } });
      await answer.body.dump();
      return answer.statusCode;
    };
    expect([await status('open.feishu.cn'), await status('bot-api.feishu.cn')]).toEqual([503, 200]);
    expect(await status(new URL(url).host)).toBe(421);
  });

  it('refuses to start with rules that have mistakes, and names them all', async () => {
    await expect(proxied([{ kind: 'nonsense' }, { kind: '503', rate: 2 }])).rejects.toThrow(
      /rules\[0\]\.kind[\s\S]*rules\[1\]\.rate/,
    );
  });
});

/** The status that a proxy answers to a CONNECT, and the socket. */
async function connected(proxyUrl: string, authority: string): Promise<{ status: number; socket: Socket }> {
  const { hostname, port } = new URL(proxyUrl);
  const socket = connect(Number(port), hostname);
  closing.push(() => Promise.resolve(void socket.destroy()));
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nhost: ${authority}\r\n\r\n`);
  const [head] = (await once(socket, 'data')) as [Buffer];
  return { status: Number(String(head).split(' ')[1]), socket };
}

describe('S000-74: the fault proxy and CONNECT', () => {
  it('refuses a host that is none, and goes on', async () => {
    const { url } = await proxied([]);
    expect((await connected(url, 'localhost:99999999')).status).toBe(400);
    expect((await through(url, 'http://open.feishu.cn/echo/x')).status).toBe(200);
  });

  it('knows a host in whatever letters it is written', async () => {
    const { url } = await proxied([]);
    const { socket } = await connected(url, 'Open.Feishu.CN:443');
    // No TLS and no HTTP: it is a tunnel to where the host leads, the sandbox, which cannot read it.
    socket.write(Buffer.from([0x16, 0, 0, 0]));
    const [head] = (await once(socket, 'data')) as [Buffer];
    expect(String(head)).toContain('400 Bad Request');
  });
});

describe('S000-74: the fault proxy and TLS', () => {
  /** What a client gets from an https server of its own through a proxy with a rule for it. */
  async function secured(tls: boolean) {
    const ca = await readFile(certFile, 'utf8');
    const far = createSecureServer({ cert: ca, key: await readFile(keyFile) }, (_asked, reply) => reply.end('far'));
    await new Promise<void>((resolve) => far.listen(0, resolve));
    closing.push(() => new Promise((resolve) => far.close(() => resolve())));
    const { port } = far.address() as AddressInfo;
    // Of a host that is opened the sandbox stands in: a client that trusts the certificate of the proxy cannot tell.
    const origins = tls ? [`localhost:${port}=${sandbox.url}/echo`] : [];
    const rules = [
      { kind: '503', match: { host: 'localhost', path: '/hit' } },
      { kind: 'reset', match: { host: 'localhost', path: '/cut' } },
    ];
    const { url } = await proxied(rules, origins, tls);
    const agent = new ProxyAgent({ uri: url, requestTls: { ca } });
    closing.push(() => agent.close());
    return async (path: string) => {
      const { statusCode, body } = await ask(`https://localhost:${port}${path}`, { dispatcher: agent });
      return [statusCode, await body.text()] as const;
    };
  }

  it('opens it for hosts that its certificate is for: rules hit by path there, too', async () => {
    const get = await secured(true);
    expect((await get('/hit'))[0]).toBe(503);
    const [status, text] = await get('/spared');
    expect([status, JSON.parse(text)]).toMatchObject([200, { path: '/echo/spared' }]);
  });

  it('cuts a connection there, too, and goes on', async () => {
    const get = await secured(true);
    await expect(get('/cut')).rejects.toMatchObject({
      code: expect.stringMatching(/^(ECONNRESET|UND_ERR_SOCKET)$/) as string,
    });
    expect((await get('/spared'))[0]).toBe(200);
  });

  it('without one leaves it closed: what goes through is as the host sent it', async () => {
    const get = await secured(false);
    expect([await get('/hit'), await get('/spared')]).toEqual([
      [200, 'far'],
      [200, 'far'],
    ]);
  });
});
