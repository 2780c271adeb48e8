import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterAll, afterEach, expect, it, vi } from 'vitest';

import { serve, type Served } from '../../../src/runtime/serve.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox-api.ts';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { ConfigFiles } from '../../support/config-file.ts';
import { reloads } from '../../support/reloading.ts';

const waiting = { timeout: 30_000, interval: 20 };
vi.setConfig({ testTimeout: 60_000 });

const files = new ConfigFiles();
let sandbox: Sandbox;
let served: Served;
afterEach(async () => {
  await served.stop();
  await sandbox.close();
});
afterAll(() => files.remove());

const toChat = 'path: /open-apis/im/v1/messages, query: { receive_id_type: chat_id }';
const answer = `'{"receive_id": event.message.chat_id, "msg_type": "text", "content": event.message.content}'`;

it('changed routes are in use within seconds, also to a service that was not known; a file with mistakes changes nothing', async () => {
  sandbox = await createSandbox({ settings: { tierMode: 'off', chatPerSecond: 0 } });
  const asked: string[] = [];
  const service = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.end('{}');
  });
  await new Promise<void>((listening) => service.listen(0, '127.0.0.1', listening));
  const { port } = service.address() as AddressInfo;
  const write = (routes: string): string =>
    files.write(`
data: memory
logLevel: silent
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
apps: [{ id: cli_a, secret: s, encryptKey: key }]
upstreams: { feishu: { baseUrl: '${sandbox.url}' } }
routes: ${routes}
`);
  const file = write('[]');
  const change = (...how: Parameters<typeof write>): void => {
    write(...how);
    // Looked at at once, instead of within a second.
    process.emit('SIGHUP');
  };
  const load = () => files.loadFile(file).config;
  served = await serve(load(), [], { worker: true, ingress: true }, { file, load });
  const target = { urls: [served.ingressUrl ?? ''], app: 'cli_a', encryptKey: 'key' };

  change(`[{ on: im.message.receive_v1, call: { ${toChat}, body: ${answer} } }]`);
  await vi.waitFor(async () => expect(await reloads(served, 'applied')).toBe(1), waiting);
  await sandbox.sendEvents({ target, events: 2 });
  await vi.waitFor(() => expect(sandbox.effects().effects).toBe(2), waiting);

  change(`[{ on: im.message.receive_v1, call: '{{{' }]`);
  await vi.waitFor(async () => expect(await reloads(served, 'refused')).toBe(1), waiting);
  await sandbox.sendEvents({ target, events: 2 });
  await vi.waitFor(() => expect(sandbox.effects().effects).toBe(4), waiting);

  change(`[{ on: '*', name: hook, http: 'http://127.0.0.1:${port}/hook' }]`);
  await vi.waitFor(async () => expect(await reloads(served, 'applied')).toBe(2), waiting);
  await sandbox.sendEvents({ target, events: 1 });
  await vi.waitFor(() => expect(asked).toEqual(['/hook']), waiting);
  expect(sandbox.effects().effects).toBe(4);
  service.close();
});

it('a change beside the handlers leaves their threads alone; one that is refused leaves everything as it was', async () => {
  sandbox = await createSandbox({ settings: { tierMode: 'off', chatPerSecond: 0 } });
  const handler = (name: string): string =>
    files.write(
      "let n = 0; export default (event, { call }) => void call({ upstream: 'echo', path: `/" + name + '/${++n}` });',
      `${name}.mjs`,
    );
  const [first, second] = [handler('first'), handler('second')];
  const write = (routes: string, upstreams = ''): string =>
    files.write(`
data: memory
logLevel: silent
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
apps: [{ id: cli_a, secret: s, encryptKey: key }]
upstreams: { feishu: { baseUrl: '${sandbox.url}' }, echo: { baseUrl: '${sandbox.url}/echo' }${upstreams} }
routes: ${routes}
`);
  const file = write(`[{ on: '*', name: a, handler: '${first}' }]`);
  const change = (...how: Parameters<typeof write>): void => {
    write(...how);
    // Looked at at once, instead of within a second.
    process.emit('SIGHUP');
  };
  const load = () => files.loadFile(file).config;
  served = await serve(load(), [], { worker: true, ingress: true }, { file, load });
  const target = { urls: [served.ingressUrl ?? ''], app: 'cli_a', encryptKey: 'key' };
  const echoes = (): string[] =>
    sandbox.requests().flatMap(({ path }) => (path.startsWith('/echo/') ? [path.slice('/echo/'.length)] : []));
  const ask = (upstream: string): Promise<number> =>
    fetch(`${served.ingressUrl ?? ''}/v1/calls`, {
      method: 'POST',
      body: JSON.stringify({ upstream, path: '/echo/asked', ttlMs: 1_000 }),
    }).then(({ status }) => status);
  await sandbox.sendEvents({ target, events: 1 });
  await vi.waitFor(() => expect(echoes()).toEqual(['first/1']), waiting);

  change(
    `[{ on: '*', name: a, handler: '${first}' }, { on: '*', call: '{{{' }]`,
    `, more: { baseUrl: '${sandbox.url}' }`,
  );
  await vi.waitFor(async () => expect(await reloads(served, 'refused')).toBe(1), waiting);
  expect(served.worker?.house.destinations.has('more')).toBe(false);
  expect(await ask('more')).toBe(422);

  change(
    `[{ on: '*', name: a, handler: '${first}' }, { on: '*', name: b, handler: '${second}' }]`,
    `, more: { baseUrl: '${sandbox.url}' }`,
  );
  await vi.waitFor(async () => expect(await reloads(served, 'applied')).toBe(1), waiting);
  expect(await ask('more')).toBe(202);
  await sandbox.sendEvents({ target, events: 1 });
  await vi.waitFor(() => expect(echoes()).toEqual(expect.arrayContaining(['first/2', 'second/1'])), waiting);
});

it('a rule of a table may lead to an upstream that came with a change', async () => {
  sandbox = await createSandbox({ settings: { tierMode: 'off', chatPerSecond: 0 } });
  const asked: string[] = [];
  const service = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.end('{}');
  });
  await new Promise<void>((listening) => service.listen(0, '127.0.0.1', listening));
  const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  const table = files.write(`[{ name: hook, on: '*', http: '${url}/hook' }]`, 'table.yaml');
  const write = (upstreams: string): string =>
    files.write(`
data: memory
logLevel: silent
listen: { ingress: '127.0.0.1:0', admin: '127.0.0.1:0' }
apps: [{ id: cli_a, secret: s, encryptKey: key }]
upstreams: { feishu: { baseUrl: '${sandbox.url}' }${upstreams} }
routeTable: { file: ${table}, exportMs: 200 }
`);
  const file = write('');
  const load = () => files.loadFile(file).config;
  served = await serve(load(), [], { worker: true, ingress: true }, { file, load });
  const refused = async (): Promise<string | undefined> => {
    const text = await fetch(`${served.adminUrl}/metrics`).then((response) => response.text());
    return /^larkspur_rules_refused (\d+)$/m.exec(text)?.[1];
  };
  await vi.waitFor(async () => expect(await refused()).toBe('1'), waiting);

  write(`, hooks: { baseUrl: '${url}' }`);
  process.emit('SIGHUP');
  await vi.waitFor(async () => expect(await refused()).toBe('0'), waiting);
  const target = { urls: [served.ingressUrl ?? ''], app: 'cli_a', encryptKey: 'key' };
  await vi.waitFor(async () => {
    await sandbox.sendEvents({ target, events: 1 });
    expect(asked).toContain('/hook');
  }, waiting);
  service.close();
});
