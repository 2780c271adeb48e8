import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterEach, expect, it, vi } from 'vitest';

import { serve, type Served } from '../../../src/runtime/serve.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox-api.ts';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { ConfigFiles } from '../../support/config-file.ts';

const waiting = { timeout: 30_000, interval: 20 };
vi.setConfig({ testTimeout: 60_000 });

const files = new ConfigFiles();
let sandbox: Sandbox;
let served: Served;
afterEach(async () => {
  await served.stop();
  await sandbox.close();
  files.remove();
});

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
  const load = () => files.loadFile(file).config;
  served = await serve(load(), [], { worker: true, ingress: true }, { file, load });
  const target = { urls: [served.ingressUrl ?? ''], app: 'cli_a', encryptKey: 'key' };
  const reloads = async (outcome: string): Promise<number> => {
    const text = await fetch(`${served.adminUrl}/metrics`).then((response) => response.text());
    return Number(new RegExp(`larkspur_config_reloads_total\\{outcome="${outcome}"\\} (\\d+)`).exec(text)?.[1] ?? 0);
  };
  await new Promise((soon) => setTimeout(soon, 200));

  write(`[{ on: im.message.receive_v1, call: { ${toChat}, body: ${answer} } }]`);
  await vi.waitFor(async () => expect(await reloads('applied')).toBe(1), waiting);
  await sandbox.sendEvents({ target, events: 2 });
  await vi.waitFor(() => expect(sandbox.effects().effects).toBe(2), waiting);

  write(`[{ on: im.message.receive_v1, call: '{{{' }]`);
  await vi.waitFor(async () => expect(await reloads('refused')).toBe(1), waiting);
  await sandbox.sendEvents({ target, events: 2 });
  await vi.waitFor(() => expect(sandbox.effects().effects).toBe(4), waiting);

  write(`[{ on: '*', name: hook, http: 'http://127.0.0.1:${port}/hook' }]`);
  await vi.waitFor(async () => expect(await reloads('applied')).toBe(2), waiting);
  await sandbox.sendEvents({ target, events: 1 });
  await vi.waitFor(() => expect(asked).toEqual(['/hook']), waiting);
  expect(sandbox.effects().effects).toBe(4);
  service.close();
});
